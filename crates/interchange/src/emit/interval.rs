//! Half of the interval of a new measurement at 95 %, as
//! [`Resolved::predict`](strata_model::Resolved::predict) computes it: t² (x'Σx + noise) of the
//! model's own fit, plus the share of the intervals of the models that it calls.

use std::collections::BTreeMap;

use strata_model::Expr;
use strata_model::expr::Function;
use strata_model::set::calls::Site;

use super::plain::{Language, PlainModel, Returns};

impl PlainModel {
    /// The function `name_half_width`, and for each call of another model a function of the time if
    /// the result of that call were different. `names`: the function of each model.
    pub(super) fn half_width<L: Language>(&self, names: &BTreeMap<String, String>) -> String {
        let arguments = self.sites.iter().flat_map(|site| &site.arguments);
        let uncertain = !self.formula.fit.covariance.is_empty();
        let at = self.formula.correction.iter().flat_map(|correction| &correction.at);
        let read: Vec<&Expr> = arguments.chain(self.terms.iter().filter(|_| uncertain)).chain(at).collect();
        let mut shifts = String::new();
        // A candidate's model contains its correction; otherwise the correction is applied at the
        // end.
        let factor = self.factor::<L>(names).filter(|_| !self.terms.is_empty());
        let time = if factor.is_some() { "corrected" } else { "seconds" };
        let mut body = L::bind_time(time, &call(&self.name, &self.arguments));
        body += &self.nodes::<L>(&read);
        if let Some(factor) = &factor {
            body += &L::bind("factor", factor);
            if self.formula.fit.relative {
                body += &L::bind("seconds", &L::divide("corrected", "factor"));
            }
        }
        if let ([site], [], Some(_)) = (&self.sites[..], &self.terms[..], self.outer.as_name()) {
            // The model is one call of another model, so its interval is the same.
            body += &L::give(&L::own(&self.call_of::<L>(site, "_half_width", names)));
        } else {
            for (site, result) in self.sites.iter().zip(&self.results) {
                body += &L::bind_time(result, &self.call_of::<L>(site, "", names));
                let half = self.call_of::<L>(site, "_half_width", names);
                body += &L::bind_time(&format!("{result}_half"), &half);
            }
            let mut squares = vec![self.square_of_fit::<L>(&mut body)];
            for (k, result) in self.results.iter().enumerate() {
                let shifted = |sign: &str| {
                    let by = format!("{sign}{result}_half");
                    let all: Vec<String> =
                        self.arguments.iter().chain(&self.results).cloned().chain([by]).collect();
                    call(&format!("{}_shift_{k}", self.name), &all)
                };
                squares.push(L::call("spread", &[L::own(&shifted("")), L::own(&shifted("-"))]));
                shifts += &self.shift::<L>(k, names);
            }
            let root = L::function(Function::Sqrt.row(), &squares.join(" + "));
            body += &L::give_time(&[if factor.is_some() { format!("{root} * factor") } else { root }]);
        }
        let doc = format!("Half of the 95 % interval of a new measurement of {}, in seconds", self.name);
        let name = format!("{}_half_width", self.name);
        shifts + &L::define(&name, Some([&doc, &self.doc[1]]), &self.arguments, Returns::Time, &body)
    }

    /// The square of the half width of this model's own fit; binds the variables that it needs.
    fn square_of_fit<L: Language>(&self, body: &mut String) -> String {
        let fit = &self.formula.fit;
        if self.terms.is_empty() {
            return L::number(0.0);
        }
        let rows: Vec<&[f64]> = fit.covariance.chunks_exact(self.terms.len()).collect();
        let mut from_fit = L::number(0.0);
        if !rows.is_empty() {
            for (name, term) in self.term_names.iter().zip(&self.terms) {
                *body += &L::bind(name, &self.value::<L>(term));
            }
            let product = |(factor, name): (&f64, &String)| format!("{} * {name}", L::number(*factor));
            let row = |(row, name): (&&[f64], &String)| {
                let sum: Vec<String> = row.iter().zip(&self.term_names).map(product).collect();
                format!("{name} * ({})", sum.join(" + "))
            };
            let sums: Vec<String> = rows.iter().zip(&self.term_names).map(row).collect();
            *body += &L::bind("from_fit", &format!("({})", sums.join("\n        + ")));
            from_fit = "from_fit".to_owned();
        }
        let noise = L::number(fit.noise);
        let noise = if fit.relative { format!("{noise} * seconds * seconds") } else { noise };
        let variance = L::function(Function::Max.row(), &format!("{}, {from_fit} + {noise}", L::number(0.0)));
        format!("{} * {variance}", L::number(fit.t_quantile * fit.t_quantile))
    }

    /// The function of the time if the result of call `k` were `by` longer.
    fn shift<L: Language>(&self, k: usize, names: &BTreeMap<String, String>) -> String {
        let later = || self.sites.iter().zip(&self.results).skip(k + 1).filter(|(site, _)| site.nested());
        let read: Vec<&Expr> = later().flat_map(|(site, _)| &site.arguments).chain([&self.outer]).collect();
        let mut body = self.nodes::<L>(&read);
        body += &L::rebind(&self.results[k], &format!("{} + by", self.results[k]));
        for (site, result) in later() {
            body += &L::rebind(result, &L::or_nan(&self.call_of::<L>(site, "", names)));
        }
        body += &L::give(&self.value::<L>(&self.outer));
        let by = ["by".to_owned()];
        let arguments: Vec<String> = self.arguments.iter().chain(&self.results).chain(&by).cloned().collect();
        L::define(&format!("{}_shift_{k}", self.name), None, &arguments, Returns::Number, &body)
    }

    fn call_of<L: Language>(&self, site: &Site, suffix: &str, names: &BTreeMap<String, String>) -> String {
        let name = names.get(&site.model).map_or("m_", String::as_str);
        let arguments: Vec<String> = site.arguments.iter().map(|a| self.value::<L>(a)).collect();
        call(&format!("{name}{suffix}"), &arguments)
    }
}

/// A call of an emitted function with the same nodes.
pub(super) fn call(name: &str, arguments: &[String]) -> String {
    let arguments: String = arguments.iter().map(|argument| format!(", {argument}")).collect();
    format!("{name}(nodes{arguments})")
}
