//! Output queues, the fourth stage of the paper. A tile at a port receives the packets that leave
//! there from all senders, keeps them in a ring in memory, and passes them one by one to the line
//! card at the port (queue.s).
//!
//! The tile takes messages as soon as they arrive. It passes a packet to the card only after the
//! card has signalled that it has room. So senders wait for the tile and never for the line. If the
//! ring is full, the tile drops the packet and tells the device at the port.

use super::ports::WHOLE;
use super::routines;

/// The user bits of messages that pass a packet to a line card over the general network.
pub const QUEUED: u8 = 2;

/// Stores the header and the number of a first message, whether the ring ends before them, between
/// them, or not.
const TWO_AROUND: &str = "        xor $t5, $a3, $s5
        movz $a3, $s6, $t5
        sw $t0, 0($a3)
        addiu $a3, $a3, 4
        xor $t5, $a3, $s5
        movz $a3, $s6, $t5
        sw $t1, 0($a3)
        addiu $a3, $a3, 4
";

/// The signal that the line card has room for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// The card sends a word on the first static network, for which the tile polls.
    Polling,
    /// The card interrupts the tile, whose handler sets a flag, as in the paper.
    Interrupts,
}

/// The network over which two neighbours exchange messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// The first static network, through the switches.
    #[default]
    Static,
    /// The general dynamic network, in messages of at most 31 words.
    General,
}

/// A queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The address of the queue's memory of [`Queue::memory`] bytes, which are 0 at the start.
    pub base: u32,
    /// The number of rows of the chip.
    pub rows: u32,
    /// The bytes of the ring, a multiple of 4.
    pub bytes: u32,
    /// The header of messages to the device at the port, without a length.
    pub port: u32,
    /// Whether a word leaves next to the side word.
    pub has_beside: bool,
    /// The signal that the line card has room.
    pub ready: Ready,
    /// The network over which packets go to the line card.
    pub network: Link,
}

impl Queue {
    /// The words of a packet's first message in memory other than its bytes: the number of words,
    /// the header, the number, the side word and the first word.
    pub const HEAD: u32 = 5;

    /// Returns the bytes of memory of a queue with a ring of `bytes` bytes on a chip with `rows`
    /// rows. The state of the senders, indexed by row and column, precedes the ring.
    pub fn memory(rows: u32, bytes: u32) -> u32 {
        Self::senders(rows) + bytes
    }

    fn senders(rows: u32) -> u32 {
        32 * rows * 16
    }

    /// Returns the program of the tile.
    pub fn program(&self) -> String {
        let Self { base, rows, bytes, port, has_beside, ready, network } = *self;
        let ring = base + Self::senders(rows);
        // The side word, the word next to it if there is one, and the first word.
        let words = 2 + u32::from(has_beside);
        let mut store: String =
            (0..words).map(|word| format!("        sw $cgni, {}($a3)\n", 8 + 4 * word)).collect();
        store += &format!("        addiu $a3, $a3, {}\n", 8 + 4 * words);
        let [begin, poll, wait, taken, end] = match ready {
            Ready::Polling => [
                "",
                "        mfsr $t0, available\n        andi $t1, $t0, 0xff\n        \
                 beq $t1, $zero, queue_wait\n",
                "",
                "        move $zero, $csti\n",
                "",
            ],
            Ready::Interrupts => [
                "        li $s4, 0\n        la $t0, queue_ready\n        mtsr $t0, vector\n        \
                 li $t0, 4\n        mtsr $t0, mask\n        inton\n",
                "        beq $s4, $zero, queue_wait\n",
                "        mfsr $t0, available\n",
                "        li $s4, 0\n",
                "# The interrupt of the line card.\nqueue_ready:\n        mfsr $zero, external\n        \
                 li $s4, 1\n        eret\n",
            ],
        };
        let (line, out, header) = match network {
            Link::Static => ("static", "$csto", String::new()),
            Link::General => {
                let header = port | u32::from(QUEUED) << 20;
                ("general", "$cgno", format!("        li $gp, {header}\n"))
            }
        };
        let text = include_str!("queue.s")
            .replace("LINE_COUNT\n", part(line, "count"))
            .replace("LINE_SHORT\n", part(line, "short"))
            .replace("LINE_LONG\n", part(line, "long"))
            .replace("LINE_AROUND\n", part(line, "around"))
            .replace("LINE_NETWORK", out)
            .replace("TWO_AROUND\n", TWO_AROUND)
            .replace("LINE_BEGIN\n", &(header + begin))
            .replace("LINE_POLL\n", poll)
            .replace("LINE_WAIT\n", wait)
            .replace("LINE_TAKEN\n", taken)
            .replace("LINE_END\n", end)
            .replace("HEAD_STORE\n", &store)
            .replace("FULL_MOVE\n", &"        move $cgno, $cgni\n".repeat(words as usize))
            .replace("AFTER_HEAD", &(1 + words).to_string())
            .replace("WHOLE_BIT", &WHOLE.trailing_zeros().to_string())
            .replace("HEAD_WORDS", &words.to_string())
            // The header of the first message, its number, and its other words; from bit 24 on.
            .replace("FULL_LENGTH", &((2 + words) << 8).to_string())
            .replace("QUEUE_RING", &ring.to_string())
            .replace("QUEUE_END", &(ring + bytes).to_string())
            .replace("QUEUE_SENDERS", &base.to_string())
            .replace("QUEUE_BYTES", &bytes.to_string())
            .replace("QUEUE_PORT", &port.to_string());
        routines::with_shared(text)
    }

    /// Returns the schedule of the switch of a tile whose line card is at a side (`N`, `E`, `S` or
    /// `W`), if the switch is needed. The switch routes the card's signal unless it is an
    /// interrupt, and the packet if it goes over the static network.
    pub fn schedule(side: char, ready: Ready, network: Link) -> Option<String> {
        let word = match ready {
            Ready::Polling => format!("        route $c{side}i->$csti\n"),
            Ready::Interrupts => String::new(),
        };
        let packet = format!(
            "        recv $1 route $csto->$swi, $csto->$c{side}o
send:   bnezd $1, $1, send route $csto->$c{side}o
"
        );
        match (network, ready) {
            (Link::Static, _) => Some(format!("take:\n{word}{packet}        j take\n")),
            (Link::General, Ready::Polling) => Some(format!("take:\n{word}        j take\n")),
            (Link::General, Ready::Interrupts) => None,
        }
    }
}

/// Returns a part of queue_line.s for a network.
fn part(line: &str, name: &str) -> &'static str {
    let begin = format!(".part {line}_{name}\n");
    let (_, rest) = include_str!("queue_line.s").split_once(&begin).expect("a part of queues");
    rest.split(".part ").next().unwrap_or_default()
}
