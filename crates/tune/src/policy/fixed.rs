//! One configuration, without a search.

use super::{Config, Policy, Random};
use serde_json::Value;

/// Always the same configuration: a model's prediction, or an earlier result.
#[derive(Clone, Debug)]
pub struct Fixed(Config);

impl Fixed {
    /// A policy that returns this configuration.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self(config)
    }
}

impl Policy for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }
    fn next(&mut self, _: &mut Random, config: &mut Config) {
        config.clone_from(&self.0);
    }
    fn learn(&mut self, _: &mut Random, _: &Config, _: f64) {}
    fn is_done(&self) -> bool {
        true
    }
    fn best(&self) -> Config {
        self.0.clone()
    }
    fn save(&self) -> Value {
        Value::Null
    }
    fn restore(&mut self, saved: &Value) -> bool {
        saved.is_null()
    }
}
