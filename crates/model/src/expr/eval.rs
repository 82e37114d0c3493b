//! The value of an expression, straight from its tree.

use super::ast::{BinaryOp, Expr, ExprKind};
use super::compile::CompileError;
use super::function::Function;
use super::op::Op;

impl Expr {
    /// Evaluates the tree directly: simple, but slower than [`Program`](super::Program), which
    /// computes the same bits.
    ///
    /// # Errors
    /// A name without a `value`, or a call of another model.
    pub fn eval(&self, value: &dyn Fn(&str) -> Option<f64>) -> Result<f64, CompileError> {
        let unknown = |name: &str| CompileError::UnknownName {
            name: name.to_owned(),
            known: Vec::new(),
            span: self.span,
        };
        Ok(match &self.kind {
            ExprKind::Number(number) => *number,
            ExprKind::Name(name) => value(name).ok_or_else(|| unknown(name))?,
            ExprKind::Unary(op, a) => Op::Unary(*op).apply(a.eval(value)?, 0.0),
            ExprKind::Binary(op, a, b) => {
                Op::of_binary(*op, a, b).apply_power_aware(a.eval(value)?, b.eval(value)?)
            }
            ExprKind::Call { name, arguments } => match (Function::from_name(name), &arguments[..]) {
                (None, _) => return Err(CompileError::ModelCall { name: name.clone(), span: self.span }),
                (Some(Function::Pow), [a, b]) => {
                    Op::of_binary(BinaryOp::Power, a, b).apply_power_aware(a.eval(value)?, b.eval(value)?)
                }
                (Some(function), _) => {
                    let values = arguments.iter().map(|a| a.eval(value)).collect::<Result<Vec<_>, _>>()?;
                    function.apply(&values)
                }
            },
        })
    }
}
