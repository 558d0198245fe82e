//! The factors of the estimated families.

use crate::classes::CLASSES;
use crate::estimate::Factors;

pub(crate) const CLAUDE3: Factors = Factors { classes: [[0.0, 1.15, 0.0]; CLASSES], error_percent: 30 };
pub(crate) const CLAUDE47: Factors = Factors { classes: [[0.0, 1.5, 0.0]; CLASSES], error_percent: 30 };
pub(crate) const GEMINI: Factors = Factors { classes: [[0.0, 1.1, 0.0]; CLASSES], error_percent: 30 };
pub(crate) const LLAMA: Factors = Factors { classes: [[0.0, 1.0, 0.0]; CLASSES], error_percent: 30 };
pub(crate) const OLD: Factors = Factors { classes: [[0.0, 1.0, 0.0]; CLASSES], error_percent: 30 };
