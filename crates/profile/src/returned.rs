//! What a task returns: an error ends the run, since the time of a task that failed is none of it.
//!
//! The compiler picks the first trait that the value's type has, by autoref specialisation (David
//! Tolnay, *Autoref-based stable specialization*, 2019): the more references, the earlier.

use std::fmt::{Debug, Display};

/// A task's value.
#[derive(Debug)]
pub struct Returned<'a, T>(pub &'a T);

/// An error that has a text for users.
pub trait Displayed {
    /// The text of the error, if it is one.
    fn error(&self) -> Option<String>;
}

/// An error that has a text for programmers alone.
pub trait Debugged {
    /// The text of the error, if it is one.
    fn error(&self) -> Option<String>;
}

/// An error without a text.
pub trait Silent {
    /// What is said instead, if it is an error.
    fn error(&self) -> Option<String>;
}

/// Any other value.
pub trait Other {
    /// None: it is no error.
    fn error(&self) -> Option<String> {
        None
    }
}

impl<T, E: Display> Displayed for &&&Returned<'_, Result<T, E>> {
    #[inline]
    fn error(&self) -> Option<String> {
        self.0.as_ref().err().map(E::to_string)
    }
}

impl<T, E: Debug> Debugged for &&Returned<'_, Result<T, E>> {
    #[inline]
    fn error(&self) -> Option<String> {
        self.0.as_ref().err().map(|error| format!("{error:?}"))
    }
}

impl<T, E> Silent for &Returned<'_, Result<T, E>> {
    #[inline]
    fn error(&self) -> Option<String> {
        self.0.as_ref().err().map(|_| std::any::type_name::<E>().to_owned())
    }
}

impl<T> Other for Returned<'_, T> {}

/// Leaves the function with an error if the value of a task is one. A value of another type costs
/// nothing, a `Result` one branch.
#[macro_export]
macro_rules! returned {
    ($value:expr) => {
        match $value {
            value => {
                #[allow(unused_imports, reason = "one of them fits")]
                use $crate::returned::{Debugged as _, Displayed as _, Other as _, Silent as _};
                if let Some(error) = (&&&&$crate::returned::Returned(&value)).error() {
                    return Err(format!(
                        "the task returned an error: {error}; if that is to be measured, end it with `.is_err()`"
                    )
                    .into());
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::Failure;

    struct Mute;

    #[derive(Debug)]
    struct Odd(#[expect(dead_code, reason = "it is printed")] i32);

    #[test]
    fn an_error_is_one_whatever_it_can_say_and_all_else_is_not() {
        macro_rules! text {
            ($value:expr) => {{
                let task = || -> Result<(), Failure> {
                    returned!($value);
                    Ok(())
                };
                task().err().map(|error| error.to_string()).unwrap_or_default()
            }};
        }
        let told = [
            (text!("x".parse::<i32>()), "invalid digit found in string"),
            (text!(Err::<(), Odd>(Odd(3))), "Odd(3)"),
            (text!(Err::<Vec<u8>, Mute>(Mute)), "Mute"),
            (text!(Err::<(), Failure>("no luck".into())), "no luck"),
        ];
        for (text, error) in told {
            assert!(text.contains("the task returned an error: ") && text.contains(error), "{text}");
        }
        let borrowed = vec![1];
        let fine = [
            text!("3".parse::<i32>()),
            text!(Ok::<&[i32], Odd>(&borrowed)),
            text!(Ok::<Mute, Mute>(Mute)),
            text!(()),
            text!(7),
            text!(Mute),
            text!(None::<i32>),
            text!(&borrowed),
        ];
        assert!(fine.iter().all(String::is_empty), "{fine:?}");
    }
}
