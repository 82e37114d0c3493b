//! Names of types: what is known of a type when a description is written to a file and read again.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::any::type_name;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::{fmt, ptr};

/// A name that lives as long as the process. Names that are read are kept once each.
#[derive(Clone, Copy, PartialOrd, Ord)]
pub(crate) struct Name(&'static str);

impl Name {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name of a type, with its modules: no two networks or sets of a program should share one.
    pub(crate) fn of<T: ?Sized>() -> Self {
        Self(type_name::<T>())
    }

    pub(crate) fn text(self) -> &'static str {
        self.0
    }
}

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
