//! The place at which code of a spec panicked: the panic hook has it, the payload does not.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    /// `Some` while code of a spec runs on this thread; holds the place once it has panicked.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Makes panics of a spec's code report their place to [`guard`] instead of stderr. Other panics
/// are printed as before.
pub(crate) fn listen() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let ours = PLACE.try_with(|place| {
            let mut place = place.borrow_mut();
            let ours = place.is_some();
            if ours {
                *place = Some(panic.location().map(ToString::to_string).unwrap_or_default());
            }
            ours
        });
        if !ours.unwrap_or(false) {
            others(panic);
        }
    }));
}

/// Runs code of a spec; a panic is converted into its message and place. The runtime's own
/// unwinding, because another node failed, continues.
pub(crate) fn guard<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    PLACE.set(Some(String::new()));
    let outcome = catch_unwind(AssertUnwindSafe(code));
    let place = PLACE.take().filter(|place| !place.is_empty());
    outcome.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        match text.or_else(|| payload.downcast_ref::<String>().cloned()) {
            Some(text) => match place {
                Some(place) => format!("panicked at {place}: {text}"),
                None => format!("panicked: {text}"),
            },
            None => resume_unwind(payload),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(guard(|| 3), Ok(3));
        assert!(guard(|| panic!("no {}", 1)).unwrap_err().ends_with(": no 1"));
        let private = catch_unwind(|| guard(|| resume_unwind(Box::new(7_u8))));
        assert_eq!(private.unwrap_err().downcast_ref(), Some(&7_u8));
    }
}
