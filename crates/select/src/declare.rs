//! The declaration of a library, as `specc` writes it.

/// Declares a library: the enum of its candidates, its inputs, `choose` and `explain`, and the tables
/// of its models. `specc` writes it; the names that it uses must be imported, because a program
/// without this crate has them in a module of its own.
///
/// ```
/// # use strata_select::table::{Domain, Entry, Model, Parameter, Prediction, Verdict};
/// use strata_select::{Explained, Input, Library, Row, Table, library};
///
/// library! {
///     /// Sums of `n` numbers.
///     pub enum Summing {
///         Plain,
///         /// `width` in 8..=1024 step *2.
///         Blocked(k0) { width: usize = k0 as usize },  // of the first parameter
///     }
///     inputs n: usize; // or `Name { n: usize, m: f64, kind: Kind in [Random, Sorted] }`, or `()`
///     tables [&SUMMING];
/// }
/// # static PLAIN: Model = Model::Computed {
/// #     seconds: |_, x| Some(1e-7 * x[0]),
/// #     predict: |nodes, x| Prediction::new(PLAIN.seconds(nodes, x)?, 0.0),
/// # };
/// # static BLOCKED: Model = Model::Computed {
/// #     seconds: |_, x| Some(1e-9 * x[0] + 2e-8 * x[0] / x[1] + 1e-12 * x[0] * x[1]),
/// #     predict: |nodes, x| Prediction::new(BLOCKED.seconds(nodes, x)?, 0.0),
/// # };
/// # static SUMMING: Table = Table {
/// #     library: "summing", spec: "", platform: "", digest: "", inputs: &["n"],
/// #     domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(1.0, 1e9)] },
/// #     entries: &[
/// #         Entry::new("plain", Verdict::Unverified, 1.0, &PLAIN),
/// #         Entry::new("blocked", Verdict::Unverified, 1.0, &BLOCKED)
/// #             .with(&[Parameter::new("width", 8, 1024).times(2)]),
/// #     ],
/// # };
///
/// assert_eq!(Summing::choose(1000), Summing::Blocked { width: 128 });
/// println!("{}", Summing::explain(1000));
/// ```
#[macro_export]
macro_rules! library {
    (
        $(#[$about:meta])*
        pub enum $name:ident {$(
            $(#[$of_variant:meta])*
            $variant:ident $(($($slot:ident),+) {$($field:ident: $kind:ty = $value:expr),+ $(,)?})?
        ),+ $(,)?}
        inputs $input:tt $({ $($key:ident: $number:ident $(in [$($word:ident),+])?),+ $(,)? })? $(: $one:ty)?;
        tables [$($table:expr),+ $(,)?];
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $name {$(
            $(#[$of_variant])*
            $variant $({$($field: $kind),+})?
        ),+}

        library! { @inputs $name $input $({ $($key: $number $(in [$($word),+])?),+ })? $(: $one)? }

        impl Library for $name {
            type Rows = [Row; [$(stringify!($variant)),+].len()];
            type Input = library!(@type $input $({ $($key: $number),+ })? $(: $one)?);
            const TABLES: &'static [&'static Table] = &[$($table),+];

            #[allow(unused_assignments)]
            fn candidate(index: usize, parameters: &[i64]) -> Option<Self> {
                let mut after = index;
                $(
                    if after == 0 {
                        return match *parameters {
                            [$($($slot),+)?] => Some(Self::$variant $({$($field: $value),+})?),
                            _ => None,
                        };
                    }
                    after -= 1;
                )+
                None
            }
        }
    };
    (@type ()) => { () };
    (@type $one:ident: $number:ty) => { $number };
    (@type $input:ident { $($fields:tt)* }) => { $input };
    (@inputs $name:ident ()) => { library! { @choose $name, (), () } };
    (@inputs $name:ident $one:ident: $number:ty) => { library! { @choose $name, ($one: $number), $one } };
    (@inputs $name:ident $input:ident { $($key:ident: $number:ident $(in [$($word:ident),+])?),+ }) => {
        $($(
            /// An input of the library: one of these.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $number {
                $($word),+
            }
        )?)+

        /// The inputs of the library, with the names of the spec.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $input {
            $(pub $key: $number),+
        }

        impl Input for $input {
            fn values(self) -> impl AsRef<[f64]> {
                [$(library!(@value (self.$key) $($($word)+)?)),+]
            }
        }

        library! { @choose $name, (input: $input), input }
    };
    (@value $value:tt) => { $value as f64 };
    (@value $value:tt $($word:ident)+) => { $value as usize as f64 };
    (@choose $name:ident, ($($parameter:tt)*), $value:expr) => {
        impl $name {
            /// The candidate that the models of this machine predict to be fastest, on one node. It
            /// cannot fail: a pin at fault is reported once, and the models decide.
            #[must_use]
            pub fn choose($($parameter)*) -> Self {
                Self::on(1).choose($value)
            }

            /// The same with the reasons, which `Display` prints, the prediction and the odds.
            #[must_use]
            pub fn explain($($parameter)*) -> Explained<Self> {
                Self::on(1).explain($value)
            }
        }
    };
}
