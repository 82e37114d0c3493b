//! On what the models of each file are measured: `on threads, mpi`.

use super::names::duplicate;
use crate::lang::ast::{File, Item, MeasuredOn, Name};
use crate::lang::checked::{MachineKind, SpecFile};
use crate::lang::diagnostic::{CheckError, ErrorCode};

/// Takes what each file says into `files`, and checks that one machine takes all of them, as they
/// are measured by one program. Errors come with the index of their file.
pub(super) fn check(files: &mut [SpecFile], trees: &[File]) -> Vec<(usize, CheckError)> {
    let mut errors = Vec::new();
    let mut left = MachineKind::ALL.to_vec();
    for (index, tree) in trees.iter().enumerate() {
        let mut lines = tree.items.iter().filter_map(|item| match item {
            Item::On(line) => Some(line),
            _ => None,
        });
        let mut named: Vec<(&Name, MachineKind)> = Vec::new();
        for word in lines.clone().flat_map(|line| &line.machines) {
            match MachineKind::ALL.into_iter().find(|kind| kind.word() == word.text) {
                None => errors.push((index, unknown(word))),
                Some(kind) => match named.iter().find(|(_, other)| *other == kind) {
                    Some((first, _)) => {
                        errors.push((index, duplicate("the machine", word, Some(first.span))));
                    }
                    None => named.push((word, kind)),
                },
            }
        }
        let kinds: Vec<MachineKind> = named.iter().map(|(_, kind)| *kind).collect();
        let both: Vec<MachineKind> = left.iter().copied().filter(|kind| kinds.contains(kind)).collect();
        match lines.next_back() {
            Some(line) if both.is_empty() && !kinds.is_empty() => {
                errors.push((index, nowhere(line, &left)));
            }
            _ if kinds.is_empty() => {}
            _ => left = both,
        }
        if let Some(file) = files.get_mut(index) {
            file.on = kinds;
        }
    }
    errors
}

fn unknown(word: &Name) -> CheckError {
    let message = format!("`{}` is not a machine", word.text);
    CheckError::new(ErrorCode::Unknown, message, word.span, "not known")
        .help("say `threads`, `mpi` or `sim`; which simulated machine is said by `--on`")
}

fn nowhere(line: &MeasuredOn, others: &[MachineKind]) -> CheckError {
    let words: Vec<&str> = others.iter().map(|kind| kind.word()).collect();
    let message = format!("the other files are measured on {} alone", words.join(", "));
    let label = "no machine takes all files";
    CheckError::new(ErrorCode::Excluded, message, line.span, label)
        .help("files of one folder are measured together: put this one into a folder of its own")
}
