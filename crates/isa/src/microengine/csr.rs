//! Control and status registers of the engine, and of the FBI or the chip. The names come from
//! public documents or common use. The numbers are assumed.

/// A register.
#[derive(Debug)]
pub struct Csr {
    pub number: u8,
    pub name: &'static str,
    pub meaning: &'static str,
}

const fn csr(number: u8, name: &'static str, meaning: &'static str) -> Csr {
    Csr { number, name, meaning }
}

/// The register that sets up a ring of the scratchpad.
macro_rules! ring {
    ($number:literal, $name:literal) => {
        csr(
            FIRST_RING + $number,
            $name,
            "sets up and empties the ring (version 2): size in bits 31 and 30 (128, 256, 512 or \
             1,024 words), and the address of its first byte",
        )
    };
}

/// The register that sets up a ring of SRAM.
macro_rules! sram_ring {
    ($number:literal, $name:literal) => {
        csr(
            FIRST_SRAM_RING + $number,
            $name,
            "as `scratch_ring_base_0`, for a ring in SRAM: size in bits 31 to 29 (512 to 65,536 \
             words)",
        )
    };
}

/// Registers of a microengine of version 1.
pub static LOCAL_1: &[Csr] = &[
    csr(0, "active_ctx", "the number of the context that runs"),
    csr(1, "me_number", "the number of the engine"),
    csr(2, "ctx_enables", "one bit for each context that may run"),
    csr(3, "condition_codes", "N, Z, C and V in bits 3 to 0"),
    csr(4, "ctx_signals", "the signals of the context that have come"),
    csr(5, "cycle_count", "cycles of the engine since the start, the low word"),
];

/// Registers of a microengine of version 2.
pub static LOCAL_2: &[Csr] = &[
    csr(0, "active_ctx", "the number of the context that runs"),
    csr(1, "me_number", "the number of the engine"),
    csr(
        2,
        "ctx_enables",
        "bits 15 to 8: contexts that may run; bit 20: next-neighbour registers are this engine's",
    ),
    csr(3, "condition_codes", "N, Z, C and V in bits 3 to 0"),
    csr(4, "ctx_signals", "the signals of the context that have come"),
    csr(5, "timestamp_low", "units of 16 cycles since the start, low word"),
    csr(6, "timestamp_high", "the high word"),
    csr(7, "active_lm_addr_0", "pointer 0 into local memory, in bytes"),
    csr(8, "active_lm_addr_1", "pointer 1 into local memory, in bytes"),
    csr(
        9,
        "t_index",
        "number, among those of the context, of the transfer register that `*$index` means",
    ),
    csr(10, "byte_index", "byte 0 to 3 for `byte_align_be` and `byte_align_le`"),
    csr(
        11,
        "same_me_signal",
        "writing sets a signal of a context: bits 6 to 3 signal, 2 to 0 context",
    ),
    csr(12, "next_neighbor_signal", "as `same_me_signal`, in the next engine"),
    csr(13, "prev_neighbor_signal", "as `same_me_signal`, in the engine before"),
    csr(14, "pseudo_random", "a new number at each reading"),
    csr(
        15,
        "future_count",
        "the context gets the signal of `future_count_signal` at this timestamp",
    ),
    csr(16, "future_count_signal", "the number of that signal"),
    csr(17, "profile_count", "cycles of the engine since the start, the low word"),
    csr(18, "nn_put", "where the next word is put on the next engine's ring"),
    csr(19, "nn_get", "where the next word is taken from this engine's ring"),
    csr(20, "crc_remainder", "what `crc_be` and `crc_le` have computed so far"),
];

/// Registers of the FBI (version 1), and of the chip (`cap`, version 2).
pub static FBI: &[Csr] = &[
    csr(0, "rcv_rdy_lo", "one bit for each port with an MPKT to be received, ports 0 to 31"),
    csr(1, "rcv_rdy_hi", "ports 32 to 63"),
    csr(2, "rcv_req", "writing asks for an MPKT: see \"Receive and transmit\" in ixp.md"),
    csr(3, "rcv_cntl", "reading takes the status of the MPKT that came for this context"),
    csr(4, "xmit_rdy_lo", "one bit for each port that can take an MPKT, ports 0 to 31"),
    csr(5, "xmit_rdy_hi", "ports 32 to 63"),
    csr(6, "xmit_validate", "writing the number of an element of the transmit FIFO sends it"),
    csr(7, "xmit_ptr", "the element of the transmit FIFO that leaves next"),
    csr(8, "inter_thd_sig", "writing the number of a thread (engine * 4 + context) signals it"),
    csr(9, "thread_done", "one bit for each thread; writing sets bits"),
    csr(10, "self_destruct", "reading clears it; writing the number of a bit sets that bit"),
    csr(11, "mailbox", "a word for the host: results of tests"),
    csr(12, "hash_multiplier_48_lo", "multiplier of the hash unit, bits 31 to 0"),
    csr(13, "hash_multiplier_48_hi", "bits 47 to 32"),
    csr(14, "hash_multiplier_64_lo", "multiplier of the hash unit, bits 31 to 0"),
    csr(15, "hash_multiplier_64_hi", "bits 63 to 32"),
    csr(16, "hash_multiplier_128_0", "multiplier of the hash unit, bits 31 to 0 (version 2)"),
    csr(17, "hash_multiplier_128_1", "bits 63 to 32"),
    csr(18, "hash_multiplier_128_2", "bits 95 to 64"),
    csr(19, "hash_multiplier_128_3", "bits 127 to 96"),
    csr(20, "cycle_count", "cycles of the chip since the start, the low word"),
    csr(21, "mailbox_1", "a word for the host"),
    csr(22, "mailbox_2", "a word for the host"),
    csr(23, "mailbox_3", "a word for the host"),
    csr(24, "port_count", "the number of ports"),
    csr(25, "rcv_sequence", "the number that the next packet of a port gets"),
    csr(26, "xmit_sequence", "the number of the packet that may be sent next"),
    ring!(0, "scratch_ring_base_0"),
    ring!(1, "scratch_ring_base_1"),
    ring!(2, "scratch_ring_base_2"),
    ring!(3, "scratch_ring_base_3"),
    ring!(4, "scratch_ring_base_4"),
    ring!(5, "scratch_ring_base_5"),
    ring!(6, "scratch_ring_base_6"),
    ring!(7, "scratch_ring_base_7"),
    ring!(8, "scratch_ring_base_8"),
    ring!(9, "scratch_ring_base_9"),
    ring!(10, "scratch_ring_base_10"),
    ring!(11, "scratch_ring_base_11"),
    ring!(12, "scratch_ring_base_12"),
    ring!(13, "scratch_ring_base_13"),
    ring!(14, "scratch_ring_base_14"),
    ring!(15, "scratch_ring_base_15"),
    sram_ring!(0, "sram_ring_base_0"),
    sram_ring!(1, "sram_ring_base_1"),
    sram_ring!(2, "sram_ring_base_2"),
    sram_ring!(3, "sram_ring_base_3"),
    sram_ring!(4, "sram_ring_base_4"),
    sram_ring!(5, "sram_ring_base_5"),
    sram_ring!(6, "sram_ring_base_6"),
    sram_ring!(7, "sram_ring_base_7"),
    sram_ring!(8, "sram_ring_base_8"),
    sram_ring!(9, "sram_ring_base_9"),
    sram_ring!(10, "sram_ring_base_10"),
    sram_ring!(11, "sram_ring_base_11"),
    sram_ring!(12, "sram_ring_base_12"),
    sram_ring!(13, "sram_ring_base_13"),
    sram_ring!(14, "sram_ring_base_14"),
    sram_ring!(15, "sram_ring_base_15"),
];

/// Registers of the media switch fabric (version 2). `msf[read, ...]` and `msf[write, ...]` reach
/// them at 4 times their number.
pub static MSF: &[Csr] = &[
    csr(
        0,
        "rx_thread_freelist_0",
        "writing puts a thread on the list that waits for MPKTs: see ixp2400.md",
    ),
    csr(1, "rx_thread_freelist_1", "the second list"),
    csr(2, "rx_thread_freelist_2", "the third list"),
    csr(3, "rbuf_element_done", "writing the number of an element of RBUF frees it"),
    csr(4, "tx_sequence", "elements of TBUF that have left since the start"),
    csr(5, "rbuf_element_size", "bytes of an element of RBUF and TBUF"),
    csr(6, "rbuf_element_count", "elements of RBUF"),
    csr(7, "tbuf_element_count", "elements of TBUF"),
];

/// Returns the registers that commands of a unit name.
pub fn of_unit(unit: super::Unit) -> &'static [Csr] {
    match unit {
        super::Unit::Msf => MSF,
        _ => FBI,
    }
}

/// The register of scratchpad ring 0. The registers of the other rings follow.
pub const FIRST_RING: u8 = 32;
/// The register of SRAM ring 0. The registers of the other rings follow.
pub const FIRST_SRAM_RING: u8 = 48;

/// Returns the registers of an engine.
pub fn local(version: super::Version) -> &'static [Csr] {
    match version {
        super::Version::One => LOCAL_1,
        super::Version::Two => LOCAL_2,
    }
}

/// Finds a register by name.
pub fn number(registers: &[Csr], name: &str) -> Option<u8> {
    registers.iter().find(|csr| csr.name.eq_ignore_ascii_case(name)).map(|csr| csr.number)
}

/// Finds the name of a register.
pub fn name(registers: &'static [Csr], number: u8) -> Option<&'static str> {
    registers.iter().find(|csr| csr.number == number).map(|csr| csr.name)
}
