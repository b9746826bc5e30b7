//! Calls: the encoding of their addresses.

use wireloom_isa::Compiled;

use super::broker::Service;
use super::call::{Launch, Target};
use super::code::Code;
use super::mpe;
use super::objects::{MethodInterface, PacketUse};
use super::workload::Workload;
use crate::multiflex::threads;

impl<S: Compiled> Code<S> {
    /// Decodes the address of a call; `None` if there is no such object or method.
    pub(super) fn launch(&self, call: u32) -> Option<Launch> {
        let [object, method, ticket] = [call >> 24, call >> 8 & 0xffff, call >> 4 & 0xf];
        let [is_one_way, is_field] = [mpe::ONE_WAY, mpe::FIELD].map(|bit| call & bit != 0);
        let is_application = self.is_application();
        if is_field && is_application {
            return None;
        }
        let launch = |target, argument_words, reply_words| {
            let reply_words = if is_one_way { 0 } else { reply_words };
            let packet = PacketUse::Nothing;
            Launch {
                target,
                ticket,
                argument_words,
                is_field,
                reply_words,
                packet,
                in_order: false,
            }
        };
        match object {
            mpe::CONSOLE if is_application => {
                let words = method.div_ceil(4);
                let is_one = (1..=mpe::PRINT_BYTES).contains(&method);
                is_one.then(|| launch(Target::Console { bytes: method }, words, 0))
            }
            mpe::BROKER if is_application => {
                let service = Service::object(method >> 9)?;
                let words = method >> 4 & 0x1f;
                let target = Target::Service { service, method: method & 0xf };
                (words as usize <= mpe::REQUEST_WORDS).then(|| launch(target, words, 1))
            }
            // A thread that ends gets no reply; every other request gets one.
            mpe::THREAD_MANAGER if is_application && is_one_way == (method == threads::EXIT) => {
                let words = threads::argument_words(method)?;
                let has_reply = u32::from(method != threads::EXIT);
                Some(launch(Target::ThreadManager { method }, words, has_reply))
            }
            _ => {
                let methods = self.objects.get(object as usize)?;
                let MethodInterface { argument_words, reply_words, packet } =
                    *methods.get(method as usize)?;
                // A changed packet must come back.
                let is_lost = is_one_way && packet == PacketUse::Writes;
                let target = Target::Object { object, method };
                let in_order = self.takes_turns(object);
                let launch = launch(target, argument_words, reply_words);
                (!is_lost).then_some(Launch { packet, in_order, ..launch })
            }
        }
    }
}
