//! Schedules of the switches of a chain.
//!
//! The first word of a message, its number of words minus one, goes to the switch itself. A loop
//! routes one word in each iteration, since backward branches are predicted as taken. A 0, which is
//! no message, is rare.

use std::fmt::Write;

/// The switch of a tile of a chain. Sides are `N`, `E`, `S` or `W`.
#[derive(Clone, Copy, Debug)]
pub struct Switch<'a> {
    /// The side from which messages come.
    pub from: char,
    /// The side to which messages go; `None` if the processor sends nothing to its switch.
    pub to: Option<char>,
    /// The index of the tile within its stage.
    pub own: usize,
    /// The number of tiles that execute the stage in turn.
    pub tiles: usize,
    /// Whether the tile belongs to the first stage, which receives packets and no 0 before them.
    pub is_first: bool,
    /// The destination of packet tails. No tails pass a stage with several tiles.
    pub rest: Option<RestWay>,
    /// The messages and tails from the side `from` that the switch passes on to other chains after
    /// its own.
    pub handed_on: &'a [Turn],
    /// The messages of other chains that the switch merges in after its own.
    pub taken_in: &'a [Turn],
}

/// The messages of another chain that shares a line card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The side to which they go, or from which they come.
    pub side: char,
    /// The number of messages after each message of this chain.
    pub messages: usize,
}

/// The route of packet tails through a switch. A tail precedes the message of its packet: the
/// number of its words minus one, or 0 if there is no tail, and then the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestWay {
    /// The side to which the words go.
    pub to: char,
    /// Whether the number goes there as well, because the next switch counts too.
    pub is_counted: bool,
}

impl Switch<'_> {
    /// Returns the schedule. In each round the switch passes a message to its processor, then the
    /// messages for later tiles of the stage, then the results of earlier tiles of the stage, and
    /// then the result of its processor. Other chains follow. So packets keep their order.
    pub fn schedule(&self) -> String {
        let Self { from, to, own, tiles, is_first, rest, .. } = *self;
        // Rare code comes last, so that frequent code needs no branches around it.
        let mut rare = String::new();
        let mut text = rest.map(|way| way.passes(from, &mut rare)).unwrap_or_default();
        let begin = if rest.is_some() { "rest" } else { "take" };
        let skip = if is_first {
            ""
        } else {
            rare += "zero:   j take\n";
            "        beqz $1, zero\n"
        };
        let _ = write!(
            text,
            "# A message for the processor.
take:   recv $1 route $c{from}i->$swi
{skip}in:     bnezd $1, $1, in route $c{from}i->$csti
"
        );
        let others = self.others(&mut rare);
        let Some(to) = to else { return format!("{text}{others}        j {begin}\n{rare}") };
        let by = format!("$c{from}i->$c{to}o");
        for other in 0..tiles - 1 - own {
            let _ = write!(
                text,
                "# A message for a later tile of the stage.
later{other}: recv $1 route $c{from}i->$swi, {by}
"
            );
            if !is_first {
                let _ = writeln!(text, "        beqz $1, zero{other}");
                let _ = writeln!(rare, "zero{other}:  j later{other}");
            }
            let _ = writeln!(text, "by{other}:    bnezd $1, $1, by{other} route {by}");
        }
        for other in 0..own {
            let _ = write!(
                text,
                "# What leaves of an earlier tile of the stage.
earlier{other}: recv $1 route $c{from}i->$swi, {by}
        beqz $1, again{other}
past{other}:  bnezd $1, $1, past{other} route {by}
"
            );
            let _ = write!(
                rare,
                "# More leaves of it after the next message.
again{other}: recv $1 route $c{from}i->$swi, {by}
more{other}:  bnezd $1, $1, more{other} route {by}
        j earlier{other}
"
            );
        }
        let _ = write!(
            text,
            "# What leaves of the processor.
out:    recv $1 route $csto->$swi, $csto->$c{to}o
        beqz $1, again
send:   bnezd $1, $1, send route $csto->$c{to}o
{others}        j {begin}
{rare}# More leaves of the processor after the next message.
again:  recv $1 route $csto->$swi, $csto->$c{to}o
more:   bnezd $1, $1, more route $csto->$c{to}o
        j out
"
        );
        text
    }

    /// Returns the part of a schedule that routes the messages of other chains.
    fn others(&self, rare: &mut String) -> String {
        let Self { from, to, rest, handed_on, taken_in, .. } = *self;
        let mut text = String::new();
        let each = |turns: &[Turn]| -> Vec<char> {
            turns.iter().flat_map(|turn| vec![turn.side; turn.messages]).collect()
        };
        for (number, side) in each(handed_on).into_iter().enumerate() {
            let by = format!("$c{from}i->$c{side}o");
            text += "# A message of the card for another chain.\n";
            if rest.is_some() {
                let _ = write!(
                    text,
                    "        recv $2 route $c{from}i->$swi, {by}
        bnez $2, others{number}
"
                );
                let _ = write!(
                    rare,
                    "others{number}: bnezd $2, $2, others{number} route {by}
        j other{number}
"
                );
            }
            let _ = write!(
                text,
                "other{number}: recv $1 route $c{from}i->$swi, {by}
on{number}:    bnezd $1, $1, on{number} route {by}
"
            );
        }
        for (number, side) in each(taken_in).into_iter().enumerate() {
            let (by, more) = match to {
                None => (format!("$c{side}i->$csti"), String::new()),
                Some(to) => (format!("$c{side}i->$c{to}o"), format!(", $c{side}i->$c{to}o")),
            };
            let _ = write!(
                text,
                "# What leaves of another chain.
        recv $1 route $c{side}i->$swi{more}
joins{number}: bnezd $1, $1, joins{number} route {by}
"
            );
        }
        text
    }
}

impl RestWay {
    /// Returns the part of a schedule that routes the tail of a packet.
    fn passes(self, from: char, rare: &mut String) -> String {
        let Self { to, is_counted } = self;
        let count = if is_counted { format!(", $c{from}i->$c{to}o") } else { String::new() };
        let _ = write!(
            rare,
            "streams: bnezd $2, $2, streams route $c{from}i->$c{to}o
        j take
"
        );
        format!(
            "# The rest of a packet, if it has one: the switch loads the number of its words, and counts down.
rest:   recv $2 route $c{from}i->$swi{count}
        bnez $2, streams
"
        )
    }
}

/// Returns the schedule of a switch that passes on all words from one side to another.
pub fn hand_on(from: char, to: char) -> String {
    format!("again:  j again route $c{from}i->$c{to}o\n")
}
