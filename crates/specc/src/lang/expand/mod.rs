//! Writes a file out: what its families, names and products of factors stand for.
//!
//! The tree that comes out is that of a file in which all of it was written, so that nothing after
//! this stage knows of it. Every piece keeps the place where it stands in the text: an error about a
//! shared term points at that term, and names the model that reads it.

mod family;
mod kinds;
mod products;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use strata_model::closest;
use strata_model::expr::{Expr, MAX_HEIGHT, RESERVED, Span};
use strata_model::platform::{MACHINE, PROCESSES};

use self::family::{members, of_machine};
use self::products::products;
use self::words::Words;
use super::ast::*;
use super::check::{Size, name_uses, value_name};
use super::diagnostic::{CheckError, ErrorCode};

/// A file becomes at most so many models, libraries and candidates, ...
const MOST_MEMBERS: usize = 2000;
/// ... and so many operators, names and numbers.
const MOST_NODES: usize = 2_000_000;

/// Writes out a file, and says what of it cannot be. `file` itself stays as it was written.
pub(super) fn expand(file: &File) -> (File, Vec<CheckError>) {
    let later = file.items.iter().filter_map(|item| match item {
        Item::Let(SharedValue { name, .. }) | Item::Terms(SharedTerms { name, .. }) => Some(name.clone()),
        Item::Model(_) | Item::Library(_) | Item::On(_) | Item::Features(_) => None,
    });
    let mut expander = Expander {
        later: later.collect(),
        values: BTreeMap::new(),
        sizes: BTreeMap::new(),
        lists: BTreeMap::new(),
        broken: BTreeSet::new(),
        members: 0,
        nodes: 0,
        errors: Vec::new(),
    };
    let mut items = Vec::new();
    for item in &file.items {
        match item {
            Item::Let(shared) => items.extend(expander.value(shared).map(Item::Let)),
            Item::Terms(shared) => expander.list(shared),
            Item::On(_) | Item::Features(_) => items.push(item.clone()),
            Item::Model(model) => items.extend(expander.model(model).into_iter().map(Item::Model)),
            Item::Library(library) => {
                items.extend(expander.library(library).into_iter().map(Item::Library));
            }
        }
    }
    let file =
        File { docs: file.docs.clone(), uses: file.uses.clone(), items, comments: file.comments.clone() };
    (file, expander.errors)
}

struct Expander {
    /// Every name that the file shares, in order.
    later: Vec<Name>,
    /// What stands for a name that is read: those given so far.
    values: BTreeMap<String, (Name, Expr)>,
    sizes: BTreeMap<String, Size>,
    lists: BTreeMap<String, (Name, Vec<Term>)>,
    /// Names whose definition has an error, which is told already.
    broken: BTreeSet<String>,
    /// Models, libraries and candidates so far.
    members: usize,
    /// The size of all expressions that names stand for so far.
    nodes: usize,
    errors: Vec<CheckError>,
}

/// What reads names: a model or a library, with the names of its own.
struct Reader<'a> {
    what: &'a Name,
    /// `None` for the file itself: a name unknown there is resolved where it is read.
    known: Option<BTreeSet<&'a str>>,
    /// Whether it may read the words of the machine.
    machine: bool,
    /// The names whose expressions have been reported for reading an unknown name.
    told: BTreeSet<String>,
    /// The words of this member of the family.
    words: Words,
    /// The inputs whose names stand for numbers.
    kinds: &'a [Kind],
    complete: bool,
}

impl<'a> Reader<'a> {
    fn new(what: &'a Name, known: Option<BTreeSet<&'a str>>) -> Self {
        Self {
            what,
            known,
            machine: true,
            told: BTreeSet::new(),
            words: Words::default(),
            kinds: &[],
            complete: true,
        }
    }

    /// Whether a name is one of its own, whatever the file shares.
    fn has(&self, name: &str) -> bool {
        self.known.as_ref().is_some_and(|known| known.contains(name))
    }
}

impl Expander {
    /// Takes note of a shared value, and gives it over the names that models know.
    fn value(&mut self, shared: &SharedValue) -> Option<SharedValue> {
        let mut reader = Reader::new(&shared.name, None);
        let value = self.expr(&shared.value, &mut reader);
        if self.may_be_given(&shared.name) && reader.complete {
            self.sizes.insert(shared.name.text.clone(), Size::of(&value, &BTreeMap::new(), &BTreeMap::new()));
            self.values.insert(shared.name.text.clone(), (shared.name.clone(), value.clone()));
            Some(SharedValue { value, ..shared.clone() })
        } else {
            self.broken.insert(shared.name.text.clone());
            None
        }
    }

    fn list(&mut self, shared: &SharedTerms) {
        let mut reader = Reader::new(&shared.name, None);
        let terms = self.terms(&shared.terms, &mut reader);
        if self.may_be_given(&shared.name) && reader.complete {
            self.lists.insert(shared.name.text.clone(), (shared.name.clone(), terms));
        } else {
            self.broken.insert(shared.name.text.clone());
        }
    }

    fn first(&self, name: &str) -> Option<&Name> {
        let value = self.values.get(name).map(|(name, _)| name);
        value.or_else(|| self.lists.get(name).map(|(name, _)| name))
    }

    /// Whether the file may share something by this name.
    fn may_be_given(&mut self, name: &Name) -> bool {
        let before = self.errors.len();
        if MACHINE.contains(&name.text.as_str()) {
            self.errors.push(of_machine(name));
        } else {
            self.errors.extend(value_name(name));
        }
        if let Some(first) = self.first(&name.text) {
            let error = super::check::duplicate("the shared name", name, Some(first.span));
            self.errors.push(error);
        }
        self.errors.len() == before
    }

    /// Names of a model or library that the file shares already.
    fn hidden<'a>(&mut self, what: &Name, own: impl IntoIterator<Item = &'a Name>) -> bool {
        let mut hides = false;
        let mut told = BTreeSet::new();
        for name in own {
            if let Some(first) = self.later.iter().find(|shared| shared.text == name.text) {
                if !told.insert(&name.text) {
                    continue;
                }
                let message = format!("`{}` of `{}` hides what the file calls so", name.text, what.text);
                let error = CheckError::new(ErrorCode::Duplicate, message, name.span, "defined again");
                self.errors.push(error.label(first.span, "shared by the file").help("rename one of them"));
                hides = true;
            }
        }
        hides
    }

    fn model(&mut self, model: &Model) -> Vec<Model> {
        let empty = Words::default();
        let most = MOST_MEMBERS.saturating_sub(self.members);
        let members = members(&model.name, model.family.as_ref(), &empty, most, &mut self.errors);
        self.members += members.len();
        if model.spelling == Spelling::Line {
            return vec![model.clone()];
        }
        let statements: &[Statement] = match &model.body {
            Body::Measured(statements) | Body::Hybrid { statements: Some(statements), .. } => statements,
            Body::Factored(_) | Body::Hybrid { statements: None, .. } => &[],
        };
        let own = statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::For(plan) => Some(&plan.name),
            StatementKind::Let { name, .. } => Some(name),
            _ => None,
        });
        let own: Vec<&Name> = own.chain(&model.inputs).collect();
        let hides = self.hidden(&model.name, own.iter().copied());
        let aliases = model.family.iter().flat_map(|family| &family.aliases);
        for alias in aliases {
            if let Some(first) = own.iter().find(|name| name.text == alias.text) {
                let error = super::check::duplicate("the name", alias, Some(first.span));
                self.errors.push(error);
            }
        }
        let known: BTreeSet<&str> = own.iter().map(|name| name.text.as_str()).collect();
        let first = self.errors.len();
        let mut models = Vec::new();
        for family::Member { name, words } in members {
            let before = self.errors.len();
            let machine = !matches!(model.body, Body::Factored(_));
            let kinds = &model.kinds;
            let mut reader =
                Reader { words, machine, kinds, ..Reader::new(&model.name, Some(known.clone())) };
            let body = match &model.body {
                Body::Measured(statements) => {
                    let mut statements = self.statements(statements, &mut reader);
                    kinds::complete(model, &mut statements);
                    Body::Measured(statements)
                }
                Body::Factored(expr) => Body::Factored(self.expr(expr, &mut reader)),
                Body::Hybrid { terms, statements } => Body::Hybrid {
                    terms: kinds::each(self.listed(terms, &mut reader), kinds),
                    statements: statements.as_ref().map(|all| {
                        let mut all = self.statements(all, &mut reader);
                        kinds::looped(kinds, &mut all);
                        all
                    }),
                },
            };
            let complete = model.complete && reader.complete && !hides;
            let docs = model.docs.iter().map(|line| reader.words.spelled(line)).collect();
            models.push(Model { docs, name, body, complete, family: None, ..model.clone() });
            self.once(first, before);
        }
        models
    }

    /// Drops the errors after the first `before` ones that others after the first `first` ones
    /// repeat: members of a family have theirs at the same places.
    fn once(&mut self, first: usize, before: usize) {
        let found = self.errors.split_off(before);
        let told: BTreeSet<_> =
            self.errors[first..].iter().map(|error| (error.code, error.start())).collect();
        self.errors.extend(found.into_iter().filter(|error| !told.contains(&(error.code, error.start()))));
    }

    fn statements(&mut self, statements: &[Statement], reader: &mut Reader<'_>) -> Vec<Statement> {
        let one = |statement: &Statement| {
            let kind = match &statement.kind {
                StatementKind::For(plan) => StatementKind::For(self.values_of(plan, reader)),
                StatementKind::Let { name, value } => {
                    StatementKind::Let { name: name.clone(), value: self.expr(value, reader) }
                }
                StatementKind::Require(expr) => StatementKind::Require(self.expr(expr, reader)),
                StatementKind::Terms(terms) => StatementKind::Terms(self.listed(terms, reader)),
                other => other.clone(),
            };
            let mut statement = Statement { kind, span: statement.span };
            spell(&mut statement, &reader.words);
            statement
        };
        statements.iter().map(one).collect()
    }

    fn values_of(&mut self, plan: &Loop, reader: &mut Reader<'_>) -> Loop {
        let (start, stop) = (self.expr(&plan.start, reader), self.expr(&plan.stop, reader));
        Loop { start, stop, ..plan.clone() }
    }

    fn listed(&mut self, terms: &[Listed], reader: &mut Reader<'_>) -> Vec<Listed> {
        self.terms(terms, reader).into_iter().map(Listed::Term).collect()
    }

    /// Terms, with those of shared lists and all products among them.
    fn terms(&mut self, terms: &[Listed], reader: &mut Reader<'_>) -> Vec<Term> {
        let mut all = Vec::new();
        for listed in terms {
            match listed {
                Listed::Term(Term { label, value }) => match self.shared_list(value, reader) {
                    Some(shared) => all.extend(shared),
                    None => all.push(Term { label: label.clone(), value: self.expr(value, reader) }),
                },
                Listed::Products { lists, span } => {
                    let factors = lists.iter().map(|list| self.factors(list, reader)).collect::<Vec<_>>();
                    let made = products(&factors, *span).unwrap_or_default();
                    let fits = made.iter().all(|term| self.takes(term));
                    if made.is_empty() && factors.iter().all(|list| !list.is_empty()) || !fits {
                        let message = "these products are too many or too large";
                        let error = CheckError::new(ErrorCode::TooLarge, message, *span, "too large");
                        let most = products::MOST;
                        self.errors.push(error.help(format!("at most {most} products are made of lists")));
                        reader.complete = false;
                        continue;
                    }
                    all.extend(made.into_iter().map(|value| Term { label: None, value }));
                }
            }
        }
        all
    }

    fn factors(&mut self, list: &[Expr], reader: &mut Reader<'_>) -> Vec<Expr> {
        let mut all = Vec::new();
        for factor in list {
            match self.shared_list(factor, reader) {
                Some(shared) => all.extend(shared.into_iter().map(|term| term.value)),
                None => all.push(self.expr(factor, reader)),
            }
        }
        all
    }

    /// The terms of a shared list, if an expression is its name.
    fn shared_list(&mut self, expr: &Expr, reader: &mut Reader<'_>) -> Option<Vec<Term>> {
        let expr = &reader.words.in_expr(expr);
        let name = expr.as_name().filter(|name| !reader.has(name))?;
        let (name, terms) = self.lists.get(name)?.clone();
        if !terms.iter().all(|term| self.takes(&term.value)) {
            self.too_large(expr.span, reader);
            return Some(Vec::new());
        }
        for term in &terms {
            self.reads_known(&name, &term.value, expr.span, reader);
        }
        Some(terms)
    }

    /// Counts what is written out; whether it is not too large.
    fn takes(&mut self, expr: &Expr) -> bool {
        let (nodes, height) = expr.measure();
        self.nodes = self.nodes.saturating_add(nodes);
        self.nodes <= MOST_NODES && height <= MAX_HEIGHT
    }

    fn too_large(&mut self, span: Span, reader: &mut Reader<'_>) {
        reader.complete = false;
        let message = "this becomes too large when the names that it reads are put in";
        let error = CheckError::new(ErrorCode::TooLarge, message, span, "too large");
        self.errors.push(error.help("make what the names stand for simpler, or use them less often"));
    }

    /// An expression with what its names stand for.
    fn expr(&mut self, expr: &Expr, reader: &mut Reader<'_>) -> Expr {
        let expr = &kinds::numbered(&reader.words.in_expr(expr), reader.kinds);
        let mut reads_any = false;
        for (name, span) in name_uses(expr) {
            if reader.has(name) {
                continue;
            }
            if let Some((given, value)) = self.values.get(name).cloned() {
                reads_any = true;
                self.reads_known(&given, &value, span, reader);
            } else if let Some((given, _)) = self.lists.get(name) {
                let message = format!("`{name}` is a list of terms, and no value");
                let error = CheckError::new(ErrorCode::NotAFunction, message, span, "read as a value");
                self.errors.push(error.label(given.span, "given here").help(format!(
                    "a list stands among terms by itself: `terms {name}, …`, or `({name}) by …` for its products"
                )));
                reader.complete = false;
            } else if self.broken.contains(name) {
                reader.complete = false;
            } else if let Some(later) = self.later.iter().find(|later| later.text == name) {
                let error = if later.text == reader.what.text && reader.known.is_none() {
                    let message = format!("the value of `{name}` reads itself");
                    CheckError::new(ErrorCode::UnknownName, message, span, "has no value yet")
                        .help("a name stands for what is written after its `=`, so it cannot read itself")
                } else {
                    let message = format!("`{name}` is given only further down");
                    CheckError::new(ErrorCode::UnknownName, message, span, "has no value yet")
                        .label(later.span, "given here")
                        .help(format!("move `{name}` before what reads it"))
                };
                self.errors.push(error);
                reader.complete = false;
            }
        }
        if !reads_any {
            return expr.clone();
        }
        if !Size::of(expr, &self.sizes, &BTreeMap::new()).is_fine() {
            self.too_large(expr.span, reader);
            return expr.clone();
        }
        let shared = |name: &str| self.values.get(name).filter(|_| !reader.has(name));
        let replaced = expr.substitute(&|name| shared(name).map(|(_, value)| value.clone()));
        let replaced = kinds::numbered(&replaced, reader.kinds);
        if !self.takes(&replaced) {
            self.too_large(expr.span, reader);
        }
        replaced
    }

    /// Reports what a shared name reads and its reader does not know.
    fn reads_known(&mut self, given: &Name, value: &Expr, used: Span, reader: &mut Reader<'_>) {
        let Some(known) = &reader.known else { return };
        let is_known = |name: &str| {
            known.contains(name)
                || RESERVED.contains(&name)
                || MACHINE.contains(&name) && reader.machine
                || name == PROCESSES
        };
        let unknown = name_uses(value).into_iter().find(|(name, _)| !is_known(name));
        let Some((name, span)) = unknown.map(|(name, span)| (name.to_owned(), span)) else { return };
        reader.complete = false;
        if !reader.told.insert(given.text.clone()) {
            return;
        }
        let (reads, what) = (&given.text, &reader.what.text);
        let message = format!("`{reads}` reads `{name}`, which `{what}` does not have");
        let meant = closest(&name, known.iter().copied());
        let is_machine = MACHINE.contains(&name.as_str());
        let error = CheckError::new(ErrorCode::UnknownName, message, used, format!("reads `{name}`"));
        self.errors.push(error.label(span, "here").help(match meant {
            _ if is_machine => {
                "the machine stands in terms, requirements and ranges, not in arguments and formulas of models"
                    .to_owned()
            }
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("give `{what}` an input or a `let` of this name"),
        }));
    }

    fn library(&mut self, library: &Library) -> Vec<Library> {
        let most = MOST_MEMBERS.saturating_sub(self.members);
        let empty = Words::default();
        let members = members(&library.name, library.family.as_ref(), &empty, most, &mut self.errors);
        self.members += members.len();
        let hides = self.hidden(&library.name, &library.inputs);
        let mut complete = library.complete && !hides;
        let all: Vec<Candidate> = library
            .candidates
            .iter()
            .map(|candidate| self.candidate(candidate, library, &mut complete))
            .collect();
        let mut libraries = Vec::new();
        for member in members {
            // Errors of candidates' names are told once.
            let mut errors = Vec::new();
            let mut candidates = Vec::new();
            for one in &all {
                let mut is_told = false;
                let most = MOST_MEMBERS.saturating_sub(self.members);
                let family = one.family.as_ref();
                let family = family.map(|family| spelled_family(family, &member.words));
                let of_family = family::members(&one.name, family.as_ref(), &member.words, most, &mut errors);
                self.members += of_family.len();
                for family::Member { name, words } in of_family {
                    let text = words.spelled(&one.model.text);
                    if let Some(open) = text.find('{')
                        && !std::mem::replace(&mut is_told, true)
                    {
                        let close = text[open..].find('}').map_or(text.len(), |close| open + close);
                        let list = &text[(open + 1).min(close)..close];
                        let message = format!("no list of words is called `{list}` here");
                        let error =
                            CheckError::new(ErrorCode::UnknownName, message, one.model.span, "not known");
                        errors.push(
                            error
                                .help(format!("name it: `candidate {{a, b}} as {} = …`", words::snake(list))),
                        );
                    }
                    let model = Name { text, span: one.model.span };
                    candidates.push(Candidate { name, family: None, model, ..one.clone() });
                }
            }
            if libraries.is_empty() {
                complete &= errors.is_empty();
                self.errors.append(&mut errors);
            }
            libraries.push(Library {
                docs: library.docs.iter().map(|line| member.words.spelled(line)).collect(),
                name: member.name,
                family: None,
                candidates,
                complete,
                ..library.clone()
            });
        }
        libraries
    }

    fn candidate(&mut self, one: &Candidate, library: &Library, complete: &mut bool) -> Candidate {
        let own = one.parameters.iter().map(|parameter| &parameter.values.name);
        let hides = self.hidden(&one.name, own.clone());
        let known = own.chain(&library.inputs).map(|name| name.text.as_str()).collect();
        let mut reader = Reader { kinds: &library.kinds, ..Reader::new(&one.name, Some(known)) };
        let values: Vec<Loop> =
            one.parameters.iter().map(|parameter| self.values_of(&parameter.values, &mut reader)).collect();
        let requires = one.requires.iter().map(|require| self.expr(require, &mut reader)).collect();
        reader.machine = false;
        let mut root = |root: &Option<Expr>| root.as_ref().map(|root| self.expr(root, &mut reader));
        let roots: Vec<Option<Expr>> = one.parameters.iter().map(|parameter| root(&parameter.root)).collect();
        let parameters =
            values.into_iter().zip(roots).map(|(values, root)| Parameter { values, root }).collect();
        let arguments = one.arguments.iter().map(|argument| self.expr(argument, &mut reader)).collect();
        *complete &= reader.complete && !hides;
        Candidate { parameters, arguments, requires, ..one.clone() }
    }
}

/// A candidate's family inside a library's: a list of one word, which the library's words have a name
/// for, is that word.
fn spelled_family(family: &Family, words: &Words) -> Family {
    let part = |part: &Part| match part {
        Part::Words(list) if list.len() == 1 && words.spelled(&part.to_string()) != part.to_string() => {
            Part::Text(words.spelled(&part.to_string()))
        }
        part => part.clone(),
    };
    Family { parts: family.parts.iter().map(part).collect(), aliases: family.aliases.clone() }
}

/// Notes where the Rust code of a statement reads a member's words.
fn spell(statement: &mut Statement, words: &Words) {
    match &mut statement.kind {
        StatementKind::Setup { code, .. }
        | StatementKind::Task { code, .. }
        | StatementKind::Cleanup(code)
        | StatementKind::Sample { code, .. } => code.words = words.in_rust(&code.text),
        _ => {}
    }
}
