use strata_select::{Domain, Entry, Library, Row, Table, Verdict};

const fn entry(name: &'static str) -> Entry {
    Entry {
        name,
        parameters: &[],
        verdict: Verdict::Unverified,
        expected_ratio: 1.0,
        seconds: |_, _, _| None,
        predict: |_, _, _| None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternScatter {
    Sets,
    Messages,
}
pub static PATTERN_SCATTER: Table = Table {
    library: "pattern_scatter",
    spec: "specs/tcs",
    platform: "",
    digest: "",
    inputs: &["bytes"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(f64::NEG_INFINITY, f64::INFINITY)] },
    entries: &[entry("sets"), entry("messages")],
};
impl Library for PatternScatter {
    type Rows = [Row; 2];
    const TABLE: &'static Table = &PATTERN_SCATTER;
    fn rows() -> [Row; 2] {
        PATTERN_SCATTER.rows()
    }
    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Sets, Self::Messages].get(index).copied()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternGather {
    Sets,
    Messages,
}
pub static PATTERN_GATHER: Table = Table {
    library: "pattern_gather",
    spec: "specs/tcs",
    platform: "",
    digest: "",
    inputs: &["bytes"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(f64::NEG_INFINITY, f64::INFINITY)] },
    entries: &[entry("sets"), entry("messages")],
};
impl Library for PatternGather {
    type Rows = [Row; 2];
    const TABLE: &'static Table = &PATTERN_GATHER;
    fn rows() -> [Row; 2] {
        PATTERN_GATHER.rows()
    }
    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Sets, Self::Messages].get(index).copied()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternReduce {
    Sets,
    Messages,
}
pub static PATTERN_REDUCE: Table = Table {
    library: "pattern_reduce",
    spec: "specs/tcs",
    platform: "",
    digest: "",
    inputs: &["bytes"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(f64::NEG_INFINITY, f64::INFINITY)] },
    entries: &[entry("sets"), entry("messages")],
};
impl Library for PatternReduce {
    type Rows = [Row; 2];
    const TABLE: &'static Table = &PATTERN_REDUCE;
    fn rows() -> [Row; 2] {
        PATTERN_REDUCE.rows()
    }
    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Sets, Self::Messages].get(index).copied()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternExchange {
    Sets,
    Messages,
}
pub static PATTERN_EXCHANGE: Table = Table {
    library: "pattern_exchange",
    spec: "specs/tcs",
    platform: "",
    digest: "",
    inputs: &["bytes"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(f64::NEG_INFINITY, f64::INFINITY)] },
    entries: &[entry("sets"), entry("messages")],
};
impl Library for PatternExchange {
    type Rows = [Row; 2];
    const TABLE: &'static Table = &PATTERN_EXCHANGE;
    fn rows() -> [Row; 2] {
        PATTERN_EXCHANGE.rows()
    }
    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Sets, Self::Messages].get(index).copied()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternHalo {
    Sets,
    Messages,
}
pub static PATTERN_HALO: Table = Table {
    library: "pattern_halo",
    spec: "specs/tcs",
    platform: "",
    digest: "",
    inputs: &["bytes"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(f64::NEG_INFINITY, f64::INFINITY)] },
    entries: &[entry("sets"), entry("messages")],
};
impl Library for PatternHalo {
    type Rows = [Row; 2];
    const TABLE: &'static Table = &PATTERN_HALO;
    fn rows() -> [Row; 2] {
        PATTERN_HALO.rows()
    }
    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Sets, Self::Messages].get(index).copied()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternTranspose {
    Sets,
    Messages,
}
pub static PATTERN_TRANSPOSE: Table = Table {
    library: "pattern_transpose",
    spec: "specs/tcs",
    platform: "",
    digest: "",
    inputs: &["bytes"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(f64::NEG_INFINITY, f64::INFINITY)] },
    entries: &[entry("sets"), entry("messages")],
};
impl Library for PatternTranspose {
    type Rows = [Row; 2];
    const TABLE: &'static Table = &PATTERN_TRANSPOSE;
    fn rows() -> [Row; 2] {
        PATTERN_TRANSPOSE.rows()
    }
    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Sets, Self::Messages].get(index).copied()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternRow {
    Sets,
    Messages,
}
pub static PATTERN_ROW: Table = Table {
    library: "pattern_row",
    spec: "specs/tcs",
    platform: "",
    digest: "",
    inputs: &["bytes"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(f64::NEG_INFINITY, f64::INFINITY)] },
    entries: &[entry("sets"), entry("messages")],
};
impl Library for PatternRow {
    type Rows = [Row; 2];
    const TABLE: &'static Table = &PATTERN_ROW;
    fn rows() -> [Row; 2] {
        PATTERN_ROW.rows()
    }
    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Sets, Self::Messages].get(index).copied()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternColumn {
    Sets,
    Messages,
}
pub static PATTERN_COLUMN: Table = Table {
    library: "pattern_column",
    spec: "specs/tcs",
    platform: "",
    digest: "",
    inputs: &["bytes"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(f64::NEG_INFINITY, f64::INFINITY)] },
    entries: &[entry("sets"), entry("messages")],
};
impl Library for PatternColumn {
    type Rows = [Row; 2];
    const TABLE: &'static Table = &PATTERN_COLUMN;
    fn rows() -> [Row; 2] {
        PATTERN_COLUMN.rows()
    }
    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Sets, Self::Messages].get(index).copied()
    }
}
