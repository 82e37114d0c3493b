//! Checks of a model set's text before it is compiled.

use super::{Model, SetError};
use crate::expr::{self, Expr, Function, RESERVED, is_name};

pub(super) fn content<T>(place: &str, message: String) -> Result<T, SetError> {
    Err(SetError::Content { place: place.to_owned(), message })
}

pub(super) fn check_name(place: &str, name: &str) -> Result<(), SetError> {
    if !is_name(name) {
        return content(
            place,
            format!("a name is a letter, then letters, digits and _, but this is `{name}`"),
        );
    }
    if RESERVED.contains(&name) || Function::from_name(name).is_some() {
        return content(place, format!("`{name}` has a meaning of its own: choose another name"));
    }
    Ok(())
}

pub(super) fn check_names<'a>(
    place: &str,
    names: impl Iterator<Item = &'a String> + Clone,
) -> Result<(), SetError> {
    for name in names.clone() {
        check_name(place, name)?;
        if names.clone().filter(|other| *other == name).count() > 1 {
            return content(place, format!("`{name}` stands here twice"));
        }
    }
    Ok(())
}

pub(super) fn parse(place: &str, what: &str, text: &str) -> Result<Expr, SetError> {
    expr::parse(text).or_else(|error| {
        let before = text.get(..error.span.start).map_or(0, |text| text.chars().count());
        content(place, format!("{what} `{text}`, character {}: {}", before + 1, error.message))
    })
}

pub(super) fn check_model(place: &str, model: &Model) -> Result<(), SetError> {
    check_names(place, model.inputs.iter().map(|input| &input.name))?;
    for input in &model.inputs {
        if input.min > input.max || input.min.is_nan() || input.max.is_nan() {
            let (name, min, max) = (&input.name, input.min, input.max);
            return content(place, format!("the range of `{name}`, {min} to {max}, is empty"));
        }
    }
    for follower in &model.follows {
        let place = format!("{place}, `follows`");
        let known = |name: &String| model.inputs.iter().any(|input| input.name == *name);
        let names = parse(&place, "the value", &follower.value)?.names();
        if let Some(other) = names.iter().chain([&follower.name]).find(|name| !known(name)) {
            return content(&place, format!("`{other}` is no input"));
        }
    }
    super::correction::check(place, model)?;
    let count = model.terms.len();
    if !model.covariance.is_empty()
        && (model.covariance.len() != count || model.covariance.iter().any(|row| row.len() != count))
    {
        return content(place, format!("the covariance must have {count} rows and columns, one a term"));
    }
    let mut numbers = (model.covariance.iter().flatten())
        .chain([&model.noise_variance, &model.mean_time, &model.t_quantile, &model.own_error]);
    if !numbers.all(|number| number.is_finite())
        || !model.terms.iter().all(|term| term.coefficient.is_finite())
    {
        return content(
            place,
            "a coefficient, or what the interval is computed from, is not a finite number".into(),
        );
    }
    for (name, number) in [
        ("noise_variance", model.noise_variance),
        ("t_quantile", model.t_quantile),
        ("own_error", model.own_error),
    ] {
        if number < 0.0 {
            return content(place, format!("`{name}` is {number}, but none is below zero"));
        }
    }
    Ok(())
}
