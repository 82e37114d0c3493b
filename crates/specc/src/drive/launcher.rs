//! The command that starts jobs of MPI: by name, or as a template for what a cluster has instead of
//! `mpirun`.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use strata_model::{count, did_you_mean};

use super::DriveError;

/// The variable that names the launcher where `--launcher` does not.
const VARIABLE: &str = "STRATA_MPIRUN";

/// The places of a template that are filled in: the number of processes, and of `--nodes 2x8` the
/// number of hosts and that of processes on each.
const PLACES: [&str; 3] = ["n", "hosts", "per_host"];

/// What a template looks like.
const EXAMPLE: &str = "as in `srun -n {n}`, or with `--nodes 2x8` in \
                       `srun -N {hosts} --ntasks-per-node={per_host} -n {n}`";

/// Lets Open MPI run as root, and lets a program name algorithms of collectives; without that nothing
/// changes.
const OPEN_MPI: [(&str, &str); 3] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
];

/// What Open MPI needs besides on fewer cores than processes, 4.1 and, by its launcher's own names,
/// 5.0. A template says itself how processes are placed.
const SHARED: [(&str, &str); 4] = [
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("PRTE_MCA_hwloc_default_binding_policy", "none"),
];

/// One-sided transfers of Open MPI 4.1 on one host; those of its usual component end with a fault.
/// There are none between hosts.
const ONE_SIDED: (&str, &str) = ("OMPI_MCA_osc", "sm");

/// Whether processes of Open MPI that wait yield their core: otherwise nodes that share a core wait
/// out each other's time slices, and where each has its own, a yield makes a message several times
/// as long.
const YIELD: &str = "OMPI_MCA_mpi_yield_when_idle";

/// The command that starts jobs of MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A command that takes `-n` and the number of processes.
    Named(OsString),
    /// A command with places that are filled in, and its words.
    Template { text: String, words: Vec<String> },
}

impl FromStr for Launcher {
    type Err = String;

    /// Reads a template, `srun -n {n}`. Blanks part its words, but within quotes.
    fn from_str(text: &str) -> Result<Self, String> {
        let words = words(text)?;
        let Some(command) = words.first() else { return Err(format!("it names no command, {EXAMPLE}")) };
        if command.contains('{') {
            return Err(format!("its first word is the command, and `{command}` is none, {EXAMPLE}"));
        }
        let mut found = Vec::new();
        for word in &words {
            filled(word, |place| {
                found.push(place.to_owned());
                Some(String::new())
            })?;
        }
        if let Some(place) = found.iter().find(|place| !PLACES.contains(&place.as_str())) {
            return Err(format!(
                "`{{{place}}}` is not filled in{}: `{{n}}` is the number of processes, and of `--nodes 2x8` \
                 `{{hosts}}` is 2 and `{{per_host}}` 8",
                did_you_mean(place, PLACES)
            ));
        }
        if !found.iter().any(|place| place == "n") {
            return Err(format!(
                "`{text}` does not say where the number of processes stands: put `{{n}}` there, {EXAMPLE}"
            ));
        }
        Ok(Self(Kind::Template { text: text.trim().to_owned(), words }))
    }
}

impl fmt::Display for Launcher {
    /// The name or the template.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Named(name) => write!(f, "{}", Path::new(name).display()),
            Kind::Template { text, .. } => f.write_str(text),
        }
    }
}

impl Launcher {
    /// The one that `STRATA_MPIRUN` names or has as a template, else `mpirun`.
    ///
    /// # Errors
    /// [`DriveError::Usage`]: the variable is neither the name of a command nor a template.
    pub fn of_environment() -> Result<Self, DriveError> {
        let Some(given) = std::env::var_os(VARIABLE).filter(|given| !given.is_empty()) else {
            return Ok(Self(Kind::Named("mpirun".into())));
        };
        let text = given.to_string_lossy();
        if !text.contains([' ', '{']) || Path::new(&given).is_file() {
            return Ok(Self(Kind::Named(given)));
        }
        text.parse().map_err(|why| DriveError::Usage { message: format!("{VARIABLE}: {why}") })
    }

    /// Refuses what cannot start a job of so many hosts, before anything is built.
    ///
    /// # Errors
    /// As [`Launcher::fits`]; [`DriveError::Start`] if there is no such command.
    pub fn check(&self, hosts: Option<usize>) -> Result<(), DriveError> {
        self.fits(hosts)?;
        match self.place() {
            Some(_) => Ok(()),
            None => Err(self.missing("there is no such command in any folder of PATH")),
        }
    }

    /// Refuses a template that has places for hosts where none are named.
    ///
    /// # Errors
    /// [`DriveError::Usage`].
    pub fn fits(&self, hosts: Option<usize>) -> Result<(), DriveError> {
        self.words(1, hosts).map(drop)
    }

    /// The command of a job with so many processes, evenly on so many hosts if these are named; the
    /// program and its arguments follow.
    ///
    /// # Errors
    /// As [`Launcher::fits`].
    pub fn job(&self, processes: usize, hosts: Option<usize>) -> Result<Command, DriveError> {
        let words = self.words(processes, hosts)?;
        let mut command = Command::new(self.command());
        command.args(words);
        let mut settings = OPEN_MPI.to_vec();
        if let Kind::Named(_) = &self.0 {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let crowded = processes / hosts.unwrap_or(1).max(1) > cores;
            settings.extend(SHARED);
            settings.push((YIELD, if crowded { "1" } else { "0" }));
            if hosts.is_none_or(|hosts| hosts < 2) {
                settings.push(ONE_SIDED);
            }
        }
        command.envs(settings.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()));
        Ok(command)
    }

    /// How processes are started, in words: of several libraries the first on the path may not be
    /// the one that programs are linked with.
    #[must_use]
    pub fn describe(&self) -> String {
        let place = self.place().unwrap_or_else(|| self.command().into());
        let said = Command::new(self.command()).arg("--version").stdin(Stdio::null()).output();
        let said = said.map(|output| output.stdout).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        // MPICH's first line has no version, its second one has.
        let of = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = said.lines().take(2).map(of).filter(|line| !line.is_empty()).collect();
        let version = match &lines[..] {
            [first, second] if second.starts_with("Version:") => format!("{first} {second}"),
            [first, ..] => first.clone(),
            [] => "which does not tell its version".to_owned(),
        };
        let described = format!("{}, {version}", place.display());
        match &self.0 {
            Kind::Named(_) => described,
            Kind::Template { text, .. } => format!("{described}, as `{text}`"),
        }
    }

    /// Where a job has its processes, by rank: the host, and the processors to which the process is
    /// bound. Empty if that cannot be found out.
    #[must_use]
    pub fn places(&self, nodes: usize) -> Vec<String> {
        let Ok(mut command) = self.job(nodes, None) else { return Vec::new() };
        command.args(["sh", "-c", PLACE]);
        let Ok(output) = command.stdin(Stdio::null()).output() else { return Vec::new() };
        let said = String::from_utf8_lossy(&output.stdout);
        let mut places: Vec<(usize, String)> = said
            .lines()
            .filter_map(|line| {
                let (rank, place) = line.split_once(' ')?;
                Some((rank.parse().ok()?, place.split_whitespace().collect::<Vec<_>>().join(" ")))
            })
            .collect();
        places.sort();
        if !output.status.success() || places.len() != nodes {
            return Vec::new();
        }
        places.into_iter().map(|(_, place)| place).collect()
    }

    /// The error where a job of so many processes, evenly on so many hosts, ended before its program
    /// began.
    pub(super) fn failed(
        &self,
        (processes, hosts): (usize, Option<usize>),
        status: &str,
        message: String,
    ) -> DriveError {
        let words = self.words(processes, hosts).unwrap_or_default();
        let command = [self.command().to_string_lossy().into_owned()].into_iter().chain(words);
        let hosts = hosts.filter(|hosts| *hosts > 0).map_or(String::new(), |hosts| {
            let each = count(processes / hosts, "process", "processes");
            format!(
                "an allocation or a host file must have {} for {each} each; ",
                count(hosts, "host", "hosts")
            )
        });
        DriveError::Launch {
            command: command.collect::<Vec<_>>().join(" "),
            status: status.to_owned(),
            message: if message.is_empty() { "(no output)".to_owned() } else { message },
            help: format!(
                "{hosts}the same words with `hostname` behind them show what is wrong; --launcher says others"
            ),
        }
    }

    /// The error where the command cannot be started.
    pub(super) fn missing(&self, reason: &str) -> DriveError {
        let help = match &self.0 {
            Kind::Named(_) => {
                "install an MPI, for example `apt-get install openmpi-bin libopenmpi-dev`, say what starts jobs \
                 here, as in --launcher 'srun -n {n}', or use --on threads"
            }
            Kind::Template { .. } => {
                "load the module that has it, say by --launcher what starts jobs here, or leave that out for \
                 `mpirun`"
            }
        };
        DriveError::Start {
            program: Path::new(self.command()).display().to_string(),
            reason: reason.to_owned(),
            help: help.to_owned(),
        }
    }

    fn command(&self) -> &std::ffi::OsStr {
        match &self.0 {
            Kind::Named(name) => name,
            Kind::Template { words, .. } => words.first().map_or("".as_ref(), |word| word.as_ref()),
        }
    }

    /// The file of the command.
    fn place(&self) -> Option<PathBuf> {
        let name = Path::new(self.command());
        if name.components().count() > 1 {
            return name.is_file().then(|| name.to_owned());
        }
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file())
    }

    /// The words after the command.
    fn words(&self, processes: usize, hosts: Option<usize>) -> Result<Vec<String>, DriveError> {
        let each = hosts.map(|hosts| processes / hosts.max(1));
        let (text, template) = match &self.0 {
            Kind::Named(_) => {
                let mut words = vec!["-n".to_owned(), processes.to_string()];
                words.extend(each.into_iter().flat_map(|each| self.placing(each)));
                return Ok(words);
            }
            Kind::Template { text, words } => (text, words),
        };
        let fill = |place: &str| match place {
            "n" => Some(processes.to_string()),
            "hosts" => hosts.map(|hosts| hosts.to_string()),
            _ => each.map(|each| each.to_string()),
        };
        let words = template.iter().skip(1).map(|word| filled(word, fill)).collect::<Result<_, _>>();
        words.map_err(|message| DriveError::Usage { message: format!("the launcher `{text}`: {message}") })
    }

    /// The arguments by which the launcher places so many processes on each host.
    fn placing(&self, each: usize) -> Vec<String> {
        let said = self.describe();
        if said.contains("Open MPI") || said.contains("OpenRTE") {
            vec!["--map-by".to_owned(), format!("ppr:{each}:node")]
        } else {
            vec!["-ppn".to_owned(), each.to_string()]
        }
    }
}

/// Prints the rank of a process of Open MPI, of MPICH and its kin, or of Slurm, and its place.
const PLACE: &str = "echo \"${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}} $(hostname) CPUs \
                     $(sed -n 's/^Cpus_allowed_list://p' /proc/self/status)\"";

/// The words of a command. Quotes of either kind keep blanks, as a shell does.
fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(quote) = quote {
        return Err(format!("a quote {quote} is opened and not closed in `{text}`"));
    }
    words.extend(word);
    Ok(words)
}

/// A word with its places `{…}` filled in. Braces around what is not a lower-case name stay, as in
/// `${VARIABLE}`.
fn filled(word: &str, mut value: impl FnMut(&str) -> Option<String>) -> Result<String, String> {
    let (mut text, mut rest) = (String::new(), word);
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
        match after.split_once('}') {
            Some((name, after)) if is_place(name) => {
                text += &value(name).ok_or_else(|| {
                    format!("`{{{name}}}` is filled in by --nodes 2x8, 8 processes on each of 2 hosts; say so, or leave it out")
                })?;
                rest = after;
            }
            _ => {
                text.push('{');
                rest = after;
            }
        }
    }
    Ok(text + rest)
}

fn is_place(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(launcher: &str, processes: usize, hosts: Option<usize>) -> Vec<String> {
        launcher.parse::<Launcher>().unwrap().words(processes, hosts).unwrap()
    }

    #[test]
    fn a_template_is_filled_in() {
        assert_eq!(line("srun -n {n}", 3, None), ["-n", "3"]);
        let hosts = "srun -N {hosts} --ntasks-per-node={per_host} -n {n} --mpi='pmix v4' ${X} {}";
        let words = ["-N", "2", "--ntasks-per-node=8", "-n", "16", "--mpi=pmix v4", "${X}", "{}"];
        assert_eq!(line(hosts, 16, Some(2)), words);
        assert_eq!(line("aprun -n{n}  ''", 5, Some(5)), ["-n5", ""]);
    }

    #[test]
    fn what_is_no_template_names_the_word() {
        for (bad, why) in [
            ("", "names no command"),
            ("  ", "names no command"),
            ("srun", "`srun` does not say where the number of processes stands: put `{n}` there"),
            ("srun -N {hosts}", "put `{n}` there"),
            ("srun -n {nodes}", "`{nodes}` is not filled in"),
            ("srun -n {n} -N {host}", "did you mean `hosts`?"),
            ("srun 'a -n {n}", "a quote ' is opened"),
            ("{n} srun", "its first word is the command"),
        ] {
            let told = bad.parse::<Launcher>().unwrap_err();
            assert!(told.contains(why), "{bad}: {told}");
        }
    }

    #[test]
    fn places_for_hosts_want_hosts() {
        let launcher: Launcher = "sh -N {hosts} -n {n}".parse().unwrap();
        assert!(launcher.check(Some(2)).is_ok());
        let error = launcher.check(None).unwrap_err();
        assert!(
            error.exit_status() == 2 && error.to_string().contains("`{hosts}` is filled in by --nodes 2x8")
        );
        let absent: Launcher = "no-such-launcher -n {n}".parse().unwrap();
        let error = absent.check(None).unwrap_err();
        assert!(error.exit_status() == 3 && error.to_string().contains("no-such-launcher"));
    }

    #[test]
    fn a_template_says_itself_how_processes_share_cores() {
        let set = |launcher: &Launcher, hosts| {
            let job = launcher.job(8, hosts).unwrap();
            job.get_envs().map(|(name, _)| name.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let template: Launcher = "sh -n {n}".parse().unwrap();
        assert!(!set(&template, None).iter().any(|name| name == YIELD || name == ONE_SIDED.0));
        let named = Launcher(Kind::Named("sh".into()));
        let has = |hosts| set(&named, hosts).iter().any(|name| name == ONE_SIDED.0);
        assert!(std::env::var_os(ONE_SIDED.0).is_some() || (has(None) && !has(Some(2))));
    }
}
