//! Networks and sets as types, so that programs cannot name connections of an inactive set.

use super::name::Name;
use serde::{Deserialize, Serialize};

/// The tag of a network: a group of connections that are used together. Made by
/// [`communication!`](crate::communication).
pub trait Network: 'static {
    /// Its name in errors and reports.
    const NAME: &'static str;
}

/// The tag of a connection set: networks whose connections may all be used while the set is the
/// active set of its task. Made by [`communication!`](crate::communication).
pub trait Set: 'static {
    /// Its name in errors and reports.
    const NAME: &'static str;
    /// Its networks.
    fn networks() -> Vec<Tag>;
}

/// Implemented if a set contains a network: only then may its connections be named while the set is
/// active.
#[diagnostic::on_unimplemented(
    message = "the set `{Self}` does not contain the network `{N}`",
    label = "this connection is not active here",
    note = "a connection can be used in those sets only that contain its network (`communication!`)"
)]
pub trait Contains<N: Network>: Set {}

/// A network's tag as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tag {
    /// The type's name, with its modules.
    id: Name,
    name: Name,
}

impl Tag {
    /// The tag of `N`.
    #[must_use]
    pub fn of<N: Network>() -> Self {
        Self { id: Name::declared::<N>(), name: Name::new(N::NAME) }
    }

    /// The network's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name.text()
    }
}

/// Declares the networks and sets of tasks: a type for each.
///
/// A network may be in several sets. Naming a connection of a network outside the active set is a
/// compile error.
///
/// ```
/// strata_tcs::communication! {
///     networks { pub Rows, Columns }
///     sets { Step: Rows, Columns; Check: Rows; }
/// }
/// fn only_in<N: strata_tcs::Network, S: strata_tcs::Contains<N>>() {}
/// only_in::<Columns, Step>();
/// ```
///
/// ```compile_fail,E0277
/// # strata_tcs::communication! {
/// #     networks { pub Rows, Columns }
/// #     sets { Step: Rows, Columns; Check: Rows; }
/// # }
/// # fn only_in<N: strata_tcs::Network, S: strata_tcs::Contains<N>>() {}
/// only_in::<Columns, Check>();                       // Check does not contain Columns
/// ```
#[macro_export]
macro_rules! communication {
    (
        networks { $($(#[$network_meta:meta])* $network_vis:vis $network:ident),* $(,)? }
        sets { $($(#[$set_meta:meta])* $set_vis:vis $set:ident : $($member:ident),* $(,)? ;)* }
    ) => {
        $(
            #[doc = concat!("The network `", stringify!($network), "`.")]
            $(#[$network_meta])*
            #[derive(Clone, Copy, Debug)]
            $network_vis struct $network;
            impl $crate::Network for $network {
                const NAME: &'static str = stringify!($network);
            }
        )*
        $(
            #[doc = concat!("The set `", stringify!($set), "`.")]
            $(#[$set_meta])*
            #[derive(Clone, Copy, Debug)]
            $set_vis struct $set;
            impl $crate::Set for $set {
                const NAME: &'static str = stringify!($set);
                fn networks() -> ::std::vec::Vec<$crate::Tag> {
                    ::std::vec![$($crate::Tag::of::<$member>()),*]
                }
            }
            $(impl $crate::Contains<$member> for $set {})*
        )*
    };
}
