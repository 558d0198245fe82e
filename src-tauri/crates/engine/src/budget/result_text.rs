//! A result on its way to an agent, or the error in its place, as far as limits care.
//!
//! Nothing is counted here: these are bounds that cost no more than a search.

use domain::ids::{AgentId, ServerId};
use domain::ports::MessagePart;
use domain::task::payload::Payload;

use crate::budget::conversations::conversation::Conversation;
use crate::budget::counting::visible::MessageKind;

/// Which agent calls which tool, and from which conversation.
pub(crate) struct CallOrigin<'a> {
    pub(crate) agent: AgentId,
    pub(crate) server: ServerId,
    pub(crate) tool: &'a str,
    /// `None`: the fullest window counts.
    pub(crate) conversation: Option<&'a Conversation>,
}

#[derive(Clone, Copy)]
pub(crate) struct ResultText<'a> {
    pub(crate) payload: &'a Payload,
    /// It is the error in place of a result.
    pub(crate) is_error: bool,
}

impl<'a> ResultText<'a> {
    /// Whether it may have more tokens than bytes: a byte of text is never more than one token, but media are counted by
    /// their size. An error has none.
    pub(crate) fn has_media(self) -> bool {
        const MEDIA: [&str; 4] = ["image", "audio", "blob", "\\u"];
        !self.is_error && MEDIA.iter().any(|word| self.payload.as_str().contains(word))
    }

    /// Whether it may have more tokens than this.
    pub(super) fn may_exceed(self, tokens: u64) -> bool {
        self.payload.bytes() > tokens || self.has_media()
    }

    pub(super) fn load(self) -> MessagePart<'a> {
        let text = self.payload.as_str();
        if self.is_error { MessagePart::Error(text) } else { MessagePart::Result(text) }
    }

    pub(super) const fn kind(self) -> MessageKind {
        if self.is_error { MessageKind::Error } else { MessageKind::Result }
    }
}
