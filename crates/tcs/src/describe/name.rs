//! Names of types: what is known of a type when a description is written to a file and read again.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::any::{TypeId, type_name};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fmt, ptr};

/// A name that lives as long as the process. Names that are read are kept once each.
#[derive(Clone, Copy, PartialOrd, Ord)]
pub(crate) struct Name(&'static str);

impl Name {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name of a type of messages, with its modules.
    pub(crate) fn of<T: ?Sized>() -> Self {
        Self(type_name::<T>())
    }

    /// The name of a network or set, with its modules. Types in two blocks of a function have one name:
    /// the second that is described gets a number, and so on, which is the same in every process of a
    /// program.
    pub(crate) fn declared<T: ?Sized + 'static>() -> Self {
        let (name, own) = (type_name::<T>(), TypeId::of::<T>());
        let mut all = DECLARED.lock().unwrap_or_else(PoisonError::into_inner);
        let types = all.entry(name).or_default();
        if let Some((_, known)) = types.iter().find(|(of, _)| *of == own) {
            return *known;
        }
        let new = match types.len() {
            0 => Self(name),
            others => {
                TWINS.store(true, Ordering::Release);
                Self(Box::leak(format!("{name}#{}", others + 1).into_boxed_str()))
            }
        };
        types.push((own, new));
        new
    }

    /// As [`declared`](Self::declared), for a type that is declared already.
    #[inline]
    pub(crate) fn of_declared<T: ?Sized + 'static>() -> Self {
        if TWINS.load(Ordering::Acquire) { Self::declared::<T>() } else { Self(type_name::<T>()) }
    }

    pub(crate) fn text(self) -> &'static str {
        self.0
    }
}

/// The networks and sets of this process: the types that have each name.
static DECLARED: Mutex<BTreeMap<&'static str, Vec<(TypeId, Name)>>> = Mutex::new(BTreeMap::new());
/// True if several types have one name.
static TWINS: AtomicBool = AtomicBool::new(false);

impl PartialEq for Name {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // A name in one place is the usual case.
        ptr::eq(self.0, other.0) || self.0 == other.0
    }
}

impl Eq for Name {}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let name = String::deserialize(deserializer)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(name.as_str()) {
            return Ok(Self(known));
        }
        let name: &'static str = Box::leak(name.into_boxed_str());
        known.insert(name);
        Ok(Self(name))
    }
}
