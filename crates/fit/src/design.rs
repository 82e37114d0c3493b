//! The design matrix: one value of each term at each sample.
//!
//! A term that is a column of the samples is taken from there; every other term is computed from
//! the inputs, with the models that it calls (hybrid terms) inlined. Values that are not finite are
//! found here, with their place.

use nalgebra::{DMatrix, DVector};
use strata_model::expr::{Expr, ExprKind, Function, Program, RESERVED, node_values};
use strata_model::samples::{ModelSamples, Sample};
use strata_model::set::{Mode, Nodes};

use crate::points;
use crate::{Fault, FitError, FitOptions, Lookup, Structure};

/// Name of the constant term.
pub(crate) const CONSTANT: &str = "1";

/// The numbers to fit.
pub(crate) struct Design {
    /// Names of the terms, the constant first if it is a candidate.
    pub(crate) terms: Vec<String>,
    /// The samples to fit.
    pub(crate) fit: Part,
    /// The samples kept for verification.
    pub(crate) verify: Part,
    /// Column of each input in the samples.
    pub(crate) inputs: Vec<usize>,
    /// The numbers of nodes of the samples.
    pub(crate) nodes: Nodes,
}

/// Samples of one kind.
pub(crate) struct Part {
    /// Samples × terms.
    pub(crate) matrix: DMatrix<f64>,
    /// Seconds.
    pub(crate) times: DVector<f64>,
    /// The variance of each time, s², if it is known.
    pub(crate) variances: Option<DVector<f64>>,
    /// Index of each in the rows of the samples.
    pub(crate) rows: Vec<usize>,
    /// A column for each sample, the variables of its terms: the inputs, then the values of
    /// `RESERVED`.
    pub(crate) variables: DMatrix<f64>,
    /// The point of each sample: equal for equal inputs, nodes and terms.
    pub(crate) points: Vec<usize>,
}

impl Part {
    /// The variables of the terms at each sample, one sample after the other.
    pub(crate) fn each_variables(&self) -> impl Iterator<Item = &[f64]> {
        self.variables.as_slice().chunks_exact(self.variables.nrows())
    }
}

/// The source of a term's values.
enum Source {
    One,
    Column(usize),
    Computed(Program),
}

/// Builds the design matrices of a model.
pub(crate) fn build(
    samples: &ModelSamples,
    structure: &Structure,
    options: &FitOptions,
    lookup: &Lookup<'_>,
) -> Result<Design, FitError> {
    let wrong = |fault| FitError::of(samples, fault);
    let inputs = structure
        .inputs
        .iter()
        .map(|input| {
            let column = samples.columns.iter().position(|c| c.text == *input);
            column.ok_or_else(|| wrong(Fault::NoColumn(input.clone())))
        })
        .collect::<Result<Vec<usize>, _>>()?;

    check_rows(samples, &inputs, options)?;
    let row_nodes = nodes_of_rows(samples, structure.nodes)?;
    let nodes = Nodes {
        min: row_nodes.iter().copied().min().unwrap_or(structure.nodes),
        max: row_nodes.iter().copied().max().unwrap_or(structure.nodes),
    };
    let unknown = nodes.min == 0;
    let mut terms = Vec::new();
    let mut sources = Vec::new();
    if options.constant {
        terms.push(CONSTANT.to_owned());
        sources.push(Source::One);
    }
    for term in &structure.terms {
        let text = term.to_string();
        if text == CONSTANT {
            continue;
        }
        sources.push(match samples.columns.iter().position(|c| c.text == text) {
            Some(column) => Source::Column(column),
            None if term.names().iter().any(|name| RESERVED.contains(&name.as_str())) && unknown => {
                return Err(wrong(Fault::NoNodes(text)));
            }
            None => Source::Computed(
                compile(term, &structure.inputs, lookup)
                    .map_err(|message| wrong(Fault::BadTerm(text.clone(), message)))?,
            ),
        });
        terms.push(text);
    }

    check_columns(samples, &terms, &sources, &row_nodes)?;
    let variance = match &structure.variance {
        None => None,
        Some(name) => {
            let column = samples.columns.iter().position(|c| c.text == *name);
            let column = column.ok_or_else(|| wrong(Fault::NoColumn(name.clone())))?;
            for Sample { values, line, .. } in &samples.rows {
                if !values[column].is_finite() || values[column] <= 0.0 {
                    return Err(FitError::at(samples, *line, Fault::BadVariance(values[column])));
                }
            }
            Some(column)
        }
    };
    let part = |verify: bool| {
        let rows: Vec<usize> =
            (0..samples.rows.len()).filter(|&i| samples.rows[i].verify == verify).collect();
        let of_row = |&row: &usize| {
            let values = inputs.iter().map(move |&c| samples.rows[row].values[c]);
            values.chain(node_values(row_nodes[row]))
        };
        let width = inputs.len() + RESERVED.len();
        let variables = DMatrix::from_iterator(width, rows.len(), rows.iter().flat_map(of_row));
        let matrix = DMatrix::from_fn(rows.len(), terms.len(), |i, j| match &sources[j] {
            Source::One => 1.0,
            Source::Column(c) => samples.rows[rows[i]].values[*c],
            Source::Computed(program) => program.eval(variables.column(i).as_slice()),
        });
        let times = DVector::from_iterator(rows.len(), rows.iter().map(|&row| samples.rows[row].seconds));
        let variances = variance.map(|column| {
            DVector::from_iterator(rows.len(), rows.iter().map(|&row| samples.rows[row].values[column]))
        });
        // Computed terms are functions of the variables.
        let columns = |row: usize| {
            let values = &samples.rows[row].values;
            sources.iter().filter_map(|source| match source {
                Source::Column(column) => Some(values[*column]),
                Source::One | Source::Computed(_) => None,
            })
        };
        let points = points::groups(rows.iter().map(|row| of_row(row).chain(columns(*row))));
        Part { matrix, times, variances, rows, variables, points }
    };
    let (mut fit, mut verify) = (part(false), part(true));
    if structure.several_nodes && nodes.min == nodes.max {
        let said = said_already(&structure.terms, &terms, &fit.matrix);
        fit.matrix = fit.matrix.remove_columns_at(&said);
        verify.matrix = verify.matrix.remove_columns_at(&said);
        let mut place = 0..;
        terms.retain(|_| place.next().is_some_and(|place| !said.contains(&place)));
    }
    if fit.rows.is_empty() {
        return Err(wrong(Fault::NoSamples(verify.rows.len())));
    }
    // A term that overflows at a verification sample is a failure of the model there, not of the
    // fit.
    for (i, &row) in fit.rows.iter().enumerate() {
        if let Some(j) = (0..terms.len()).find(|&j| !fit.matrix[(i, j)].is_finite()) {
            let fault = Fault::NotFinite(terms[j].clone(), fit.matrix[(i, j)]);
            return Err(FitError::at(samples, samples.rows[row].line, fault));
        }
    }
    let nodes = if unknown { Nodes::ANY } else { nodes };
    Ok(Design { terms, fit, verify, inputs, nodes })
}

/// The indices of terms in the number of nodes that are multiples of an earlier term for one number
/// of nodes: `keys*P` is independent of `keys` only if several numbers were measured.
fn said_already(named: &[Expr], terms: &[String], matrix: &DMatrix<f64>) -> Vec<usize> {
    let of_nodes = |text: &String| {
        let term = named.iter().find(|term| term.to_string() == *text);
        term.is_some_and(|term| term.names().iter().any(|name| RESERVED.contains(&name.as_str())))
    };
    let multiple = |j: usize, i: usize| {
        let (a, b) = (matrix.column(j), matrix.column(i));
        let square = a.norm_squared() * b.norm_squared();
        // On one node `logP` is zero everywhere.
        a.amax() == 0.0 || square > 0.0 && (a.dot(&b).powi(2) / square - 1.0).abs() < 1e-12
    };
    let told = |j: &usize| of_nodes(&terms[*j]) && (0..*j).any(|i| multiple(*j, i));
    (0..terms.len()).filter(told).collect()
}

/// The number of nodes of each sample: from its columns `P`, `logP` or `sqrtP`, else from its
/// notes, else `default`.
pub(crate) fn nodes_of_rows(samples: &ModelSamples, default: usize) -> Result<Vec<usize>, FitError> {
    const INVERSES: [fn(f64) -> f64; RESERVED.len()] = [|p| p, f64::exp2, |root| root * root];
    let noted = samples.rows.iter().map(|row| row.notes.nodes);
    let mut nodes: Vec<usize> = noted.map(|nodes| if nodes == 0 { default } else { nodes }).collect();
    // From the last to the first, so that `P` takes precedence.
    for (place, name) in RESERVED.iter().enumerate().rev() {
        let Some(column) = samples.columns.iter().position(|c| c.text == *name) else { continue };
        for (nodes, row) in nodes.iter_mut().zip(&samples.rows) {
            let value = row.values.get(column).copied().unwrap_or(f64::NAN);
            let found = INVERSES[place](value).round();
            if !(1.0..1e9).contains(&found) || !alike(value, node_values(found as usize)[place], 1.0) {
                return Err(FitError::at(samples, row.line, Fault::NotNodes(name, value)));
            }
            *nodes = found as usize;
        }
    }
    Ok(nodes)
}

/// Whether a column has the value of its expression, except for digits that were rounded by hand.
fn alike(held: f64, computed: f64, scale: f64) -> bool {
    const ROUNDING: f64 = 0.01;
    held.to_bits() == computed.to_bits()
        || !held.is_finite() && !computed.is_finite()
        || (held - computed).abs() <= ROUNDING * held.abs().max(computed.abs()).max(1e-9 * scale)
}

/// A column named by an expression over other columns must have its values: predictions compute the
/// expression, not the column.
fn check_columns(
    samples: &ModelSamples,
    terms: &[String],
    sources: &[Source],
    nodes: &[usize],
) -> Result<(), FitError> {
    let known: Vec<(usize, String)> = (samples.columns.iter().enumerate())
        .filter(|(_, column)| column.is_input())
        .map(|(place, column)| (place, column.text.clone()))
        .collect();
    let names: Vec<String> = known.iter().map(|(_, name)| name.clone()).collect();
    for (term, source) in terms.iter().zip(sources) {
        let Source::Column(column) = *source else { continue };
        let program = strata_model::expr::parse(term).ok().filter(|expr| expr.as_name().is_none());
        let Some(program) = program.and_then(|expr| compile(&expr, &names, &|_| None).ok()) else { continue };
        let held = |row: &Sample| row.values.get(column).copied().unwrap_or(f64::NAN);
        let scale =
            samples.rows.iter().map(|row| held(row).abs()).filter(|v| v.is_finite()).fold(0.0, f64::max);
        for (row, nodes) in samples.rows.iter().zip(nodes) {
            let mut variables: Vec<f64> = known.iter().map(|(place, _)| row.values[*place]).collect();
            variables.extend(node_values(*nodes));
            let (value, computed) = (held(row), program.eval(&variables));
            if !alike(value, computed, scale) {
                let fault = Fault::ColumnDiffers { column: term.clone(), value, computed };
                return Err(FitError::at(samples, row.line, fault));
            }
        }
    }
    Ok(())
}

/// Times must be numbers, above zero if errors are relative; inputs must be numbers. The squares of
/// both must be in the range of doubles.
fn check_rows(samples: &ModelSamples, inputs: &[usize], options: &FitOptions) -> Result<(), FitError> {
    for Sample { seconds, values, line, .. } in &samples.rows {
        let wrong = |fault| Err(FitError::at(samples, *line, fault));
        if !seconds.is_finite() {
            return wrong(Fault::BadTime(*seconds));
        }
        if options.mode == Mode::Relative && *seconds <= 0.0 {
            return wrong(Fault::NotPositive(*seconds));
        }
        let missing = samples.columns.get(values.len()).map(|c| c.text.clone());
        let bad = inputs.iter().find(|&&c| values.get(c).is_some_and(|v| !v.is_finite()));
        if let Some(term) = missing.or_else(|| bad.map(|&c| samples.columns[c].text.clone())) {
            return wrong(Fault::NotFinite(term, bad.map_or(f64::NAN, |&c| values[c])));
        }
        let named = inputs.iter().map(|&c| (samples.columns[c].text.as_str(), values[c]));
        let is_extreme = |value: f64| value != 0.0 && !(1e-120..=1e120).contains(&value.abs());
        if let Some((column, value)) = named.chain([("time", *seconds)]).find(|(_, v)| is_extreme(*v)) {
            return wrong(Fault::OutOfRange(column.to_owned(), value));
        }
    }
    Ok(())
}

/// Compiles a term as a function of the inputs and of `P`, `logP`, `sqrtP`.
pub(crate) fn compile(term: &Expr, inputs: &[String], lookup: &Lookup<'_>) -> Result<Program, String> {
    let term = inline(term, lookup)?;
    let mut variables: Vec<&str> = inputs.iter().map(String::as_str).collect();
    variables.extend(RESERVED);
    Program::compile(&term, &variables).map_err(|e| e.to_string())
}

/// Inlines the models that a term calls.
pub(crate) fn inline(term: &Expr, lookup: &Lookup<'_>) -> Result<Expr, String> {
    let kind = match &term.kind {
        ExprKind::Number(_) | ExprKind::Name(_) => return Ok(term.clone()),
        ExprKind::Unary(op, a) => ExprKind::Unary(*op, Box::new(inline(a, lookup)?)),
        ExprKind::Binary(op, a, b) => {
            ExprKind::Binary(*op, Box::new(inline(a, lookup)?), Box::new(inline(b, lookup)?))
        }
        ExprKind::Call { name, arguments } => {
            let arguments =
                arguments.iter().map(|argument| inline(argument, lookup)).collect::<Result<Vec<_>, _>>()?;
            if Function::from_name(name).is_some() {
                ExprKind::Call { name: name.clone(), arguments }
            } else {
                let callee = lookup(name).ok_or_else(|| format!("there is no fitted model `{name}`"))?;
                if callee.inputs.len() != arguments.len() {
                    let (takes, got) = (callee.inputs.len(), arguments.len());
                    return Err(format!("`{name}` takes {takes} arguments, not {got}"));
                }
                return Ok(callee.body.substitute(&|input| {
                    callee.inputs.iter().position(|i| i == input).map(|i| arguments[i].clone())
                }));
            }
        }
    };
    Ok(Expr { kind, span: term.span })
}
