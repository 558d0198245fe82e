//! The questions of a task as a map that clones share until one of them changes it.
//!
//! A task is cloned for every transition and for every reader. Its questions can be megabytes, so the first change of a
//! clone copies the map once. What a question means is decided in `answer.rs`.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::ids::RequestKey;
use crate::task::input_request::InputRequest;

/// Questions by key. Reading is free of copies; `DerefMut` copies the map when another clone shares it.
#[derive(Debug, Clone, Default)]
pub struct InputRequests(Arc<BTreeMap<RequestKey, InputRequest>>);

impl Deref for InputRequests {
    type Target = BTreeMap<RequestKey, InputRequest>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for InputRequests {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl PartialEq for InputRequests {
    /// Two clones that share their map are equal without comparing it.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl From<BTreeMap<RequestKey, InputRequest>> for InputRequests {
    fn from(requests: BTreeMap<RequestKey, InputRequest>) -> Self {
        Self(Arc::new(requests))
    }
}

impl<const N: usize> From<[(RequestKey, InputRequest); N]> for InputRequests {
    fn from(requests: [(RequestKey, InputRequest); N]) -> Self {
        Self::from(BTreeMap::from(requests))
    }
}

impl FromIterator<(RequestKey, InputRequest)> for InputRequests {
    fn from_iter<I: IntoIterator<Item = (RequestKey, InputRequest)>>(requests: I) -> Self {
        Self::from(requests.into_iter().collect::<BTreeMap<_, _>>())
    }
}
