//! Examples: programs with all files that they need, laid out as in the repository, so that the
//! documentation's commands run in their folders unchanged.

use std::collections::BTreeSet;

use crate::files;

/// A program to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// The word after `wireloom example`.
    pub name: &'static str,
    pub about: &'static str,
    /// Paths of files; a path that ends in `/` stands for all files below it. Files that Loom C
    /// includes are added.
    files: &'static [&'static str],
    /// Commands that run in the example's folder. The first one needs no further tools.
    pub commands: &'static [&'static str],
}

const FIRST: &str = "programs/captures/first.pcapng";
const SMALL: &str = "programs/tables/small.tables";

pub const ALL: &[Example] = &[
    Example {
        name: "router",
        about: "a core router: IPv4, IPv6, MPLS, flow counting",
        files: &[
            "programs/router.loom",
            SMALL,
            FIRST,
            "programs/tests/router.packets",
            "programs/tests/router.tables",
        ],
        commands: &[
            "wireloom verify programs/router.loom --on native --tables programs/tables/small.tables --in programs/captures/first.pcapng",
            "wireloom trace programs/router.loom --tables programs/tables/small.tables --in programs/captures/first.pcapng --packet 5",
            "wireloom test programs/tests/router.packets",
        ],
    },
    Example {
        name: "ipv4",
        about: "the IPv4 part of the router, alone",
        files: &[
            "programs/ipv4.loom",
            SMALL,
            "programs/tables/rig.tables",
            FIRST,
            "programs/tests/ipv4.packets",
            "programs/tests/ipv4.tables",
        ],
        commands: &[
            "wireloom test programs/tests/ipv4.packets",
            "wireloom explain programs/ipv4.loom",
        ],
    },
    Example {
        name: "ipv6",
        about: "the IPv6 part of the router, alone",
        files: &["programs/ipv6.loom", "programs/tests/ipv6.packets", "programs/tests/ipv6.tables"],
        commands: &["wireloom test programs/tests/ipv6.packets"],
    },
    Example {
        name: "mpls",
        about: "a label switching router",
        files: &["programs/mpls.loom", "programs/tests/mpls.packets", "programs/tests/mpls.tables"],
        commands: &["wireloom test programs/tests/mpls.packets"],
    },
    Example {
        name: "nat",
        about: "translation of IPv4 addresses and ports, after RFC 4787 and RFC 5508",
        files: &[
            "programs/nat.loom",
            "programs/tables/nat.tables",
            "programs/tests/nat.packets",
            "programs/tests/nat.tables",
        ],
        commands: &[
            "wireloom test programs/tests/nat.packets",
            "wireloom explain programs/nat.loom",
        ],
    },
    Example {
        name: "firewall",
        about: "a stateful filter of IPv4 whose flows live by protocol and phase",
        files: &[
            "programs/firewall.loom",
            "programs/tests/firewall.packets",
            "programs/tests/firewall.tables",
        ],
        commands: &["wireloom test programs/tests/firewall.packets"],
    },
    Example {
        name: "shaper",
        about: "traffic shaping: each class of packets at a rate of its own",
        files: &[
            "programs/shaper.loom",
            "programs/tests/shaper.packets",
            "programs/tests/shaper.tables",
        ],
        commands: &["wireloom test programs/tests/shaper.packets"],
    },
    Example {
        name: "fragment",
        about: "fragmentation of IPv4 for ports with a small MTU",
        files: &[
            "programs/fragment.loom",
            "programs/tests/fragment.packets",
            "programs/tests/fragment.tables",
        ],
        commands: &["wireloom test programs/tests/fragment.packets"],
    },
    Example {
        name: "syncookies",
        about: "protection of servers from floods of SYN segments",
        files: &[
            "programs/syncookies.loom",
            "programs/tests/syncookies.packets",
            "programs/tests/syncookies.tables",
        ],
        commands: &["wireloom test programs/tests/syncookies.packets"],
    },
    Example {
        name: "reassemble",
        about: "reassembly of IPv4 fragments",
        files: &["programs/reassemble.loom", "programs/tests/reassemble.packets"],
        commands: &["wireloom test programs/tests/reassemble.packets"],
    },
    Example {
        name: "switch",
        about: "an Ethernet switch with VLANs that learns addresses",
        files: &[
            "programs/switch.loom",
            "programs/tables/switch.tables",
            "programs/tests/switch.packets",
            "programs/tests/switch.tables",
        ],
        commands: &["wireloom test programs/tests/switch.packets"],
    },
    Example {
        name: "balancer",
        about: "a load balancer with consistent hashing, after Maglev",
        files: &[
            "programs/balancer.loom",
            "programs/tables/balancer.tables",
            "programs/tables/maglev.py",
            "programs/tests/balancer.packets",
            "programs/tests/balancer.tables",
        ],
        commands: &["wireloom test programs/tests/balancer.packets"],
    },
    Example {
        name: "responder",
        about: "a responder that answers ARP, neighbour discovery and pings",
        files: &[
            "programs/responder.loom",
            "programs/tests/responder.packets",
            "programs/tests/responder.tables",
        ],
        commands: &["wireloom test programs/tests/responder.packets"],
    },
    Example {
        name: "tunnel_gre",
        about: "a gateway to GRE tunnels: IPv4, IPv6, Ethernet",
        files: &[
            "programs/tunnel_gre.loom",
            "programs/tests/tunnel_gre.packets",
            "programs/tests/tunnel_gre.tables",
        ],
        commands: &["wireloom test programs/tests/tunnel_gre.packets"],
    },
    Example {
        name: "tunnel_vxlan",
        about: "a VXLAN gateway",
        files: &[
            "programs/tunnel_vxlan.loom",
            "programs/tests/tunnel_vxlan.packets",
            "programs/tests/tunnel_vxlan.tables",
        ],
        commands: &["wireloom test programs/tests/tunnel_vxlan.packets"],
    },
    Example {
        name: "url",
        about: "forwarding by what TCP carries: patterns of URLs",
        files: &["programs/url.loom", "programs/tables/url.tables", "programs/tests/url.packets"],
        commands: &["wireloom test programs/tests/url.packets"],
    },
    Example {
        name: "urlswitch",
        about: "a switch that splices TCP connections by what requests say",
        files: &[
            "programs/urlswitch.loom",
            "programs/tables/urlswitch.tables",
            "programs/tests/urlswitch.packets",
        ],
        commands: &["wireloom test programs/tests/urlswitch.packets"],
    },
    Example {
        name: "flowcount",
        about: "packets and bytes of each flow of IPv4 and IPv6",
        files: &["programs/flowcount.loom", FIRST, "programs/tests/flowcount.packets"],
        commands: &[
            "wireloom run programs/flowcount.loom --in programs/captures/first.pcapng --dump flows --rows 10",
            "wireloom test programs/tests/flowcount.packets",
        ],
    },
    Example {
        name: "md4",
        about: "MD4 over the payload of each packet",
        files: &["programs/md4.loom", "programs/tests/md4.packets"],
        commands: &["wireloom test programs/tests/md4.packets"],
    },
    Example {
        name: "virtual",
        about: "three virtual routers, for `wireloom np virtual`",
        files: &[
            "programs/virtual.loom",
            "programs/tables/virtual.toml",
            "programs/tables/virtual.tables",
        ],
        commands: &[
            "wireloom check programs/virtual.loom",
            "wireloom np virtual programs/tables/virtual.toml  # minutes, with the tools of `wireloom tools --fetch hardware`",
        ],
    },
    Example {
        name: "microcode",
        about: "programs of microengines: a forwarder, NePSim's benchmarks, a test of each instruction",
        files: &["programs/microcode/"],
        commands: &["wireloom assemble programs/microcode/ipv4.uc -o ipv4.uo"],
    },
    Example {
        name: "raw",
        about: "programs of the tiles and switches of a RAW chip, in assembler and in C",
        files: &["programs/raw/"],
        commands: &[
            "wireloom traffic --packets 100 --ports 4 --out four.pcapng",
            "wireloom run programs/raw/null.rasm --on programs/raw/null.toml --in four.pcapng",
        ],
    },
    Example {
        name: "mpsoc",
        about: "programs of threads and distributed objects, in C",
        files: &["programs/mpsoc/", FIRST],
        commands: &[
            "wireloom mpsoc sidl programs/mpsoc/forward.sidl -o wrappers",
            "wireloom mpsoc application programs/mpsoc/philosophers.c --on mpsoc-oc48  # with the tools of `wireloom tools --fetch cross`",
        ],
    },
    Example {
        name: "teaching",
        about: "programs, tables and tests of the exercises in `wireloom docs teaching`",
        files: &["docs/teaching/"],
        commands: &["wireloom check docs/teaching/ttl_wrong.loom"],
    },
    Example {
        name: "all",
        about: "all of these",
        files: &["programs/", "docs/teaching/"],
        commands: &["wireloom test programs/tests/router.packets programs/tests/nat.packets"],
    },
];

/// Returns the example with this name.
pub fn find(name: &str) -> Option<&'static Example> {
    ALL.iter().find(|example| example.name == name)
}

impl Example {
    /// Returns the names of the example's files, sorted.
    pub fn names(&self) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        for file in self.files {
            match file.strip_suffix('/') {
                None => add(file, &mut names),
                Some(_) => files::names()
                    .filter(|name| name.starts_with(file) && is_whole(name))
                    .for_each(|name| add(name, &mut names)),
            }
        }
        names
    }
}

/// Returns whether a file needs only embedded files. Some tables import routes that only a checkout
/// has fetched.
fn is_whole(name: &str) -> bool {
    let text = if name.ends_with(".tables") { files::text(name) } else { None };
    let text = text.unwrap_or_default();
    let mut imported = text.lines().filter(|line| line.starts_with("import "));
    imported.all(|line| {
        let path = line.split('"').nth(1).and_then(|path| files::resolved(name, path));
        path.is_some_and(|path| files::is_there(&path))
    })
}

/// Adds a file and, if it is in Loom C, the files that it includes.
fn add(file: &str, names: &mut BTreeSet<String>) {
    if !names.insert(file.to_owned()) || !file.ends_with(".loom") {
        return;
    }
    let text = files::text(file).expect("examples name embedded files");
    let included = text.lines().filter_map(|line| {
        line.trim_start().strip_prefix("#include")?.trim().strip_prefix('"')?.split('"').next()
    });
    for name in included {
        // A path from the root of the repository names a header that every command has.
        let beside = files::resolved(file, name).filter(|path| files::is_there(path));
        let found = beside.or_else(|| files::is_there(name).then(|| name.to_owned()));
        add(&found.expect("programs include embedded files"), names);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_of_an_example_is_embedded() {
        for example in ALL {
            let names = example.names();
            assert!(names.iter().all(|name| files::read(name).is_some()), "{}", example.name);
            // The files that the commands read are among the names.
            let words = example.commands.iter().flat_map(|command| command.split(' '));
            for word in words.filter(|word| word.starts_with("programs/")) {
                assert!(names.contains(word), "{}: {word}", example.name);
            }
        }
        assert_eq!(find("router").map(|example| example.name), Some("router"));
        assert_eq!(find("none"), None);
    }

    #[test]
    fn programs_come_with_what_they_include() {
        let names = find("router").expect("an example").names();
        for name in ["programs/parts/routes.loom", "programs/include/checksum.loom"] {
            assert!(names.contains(name), "{names:?}");
        }
        assert!(!names.contains("programs/nat.loom"), "{names:?}");
        let all = find("all").expect("an example").names();
        assert!(all.contains("programs/tables/small.tables"), "{all:?}");
        assert!(!all.contains("programs/tables/demo.tables"), "it needs the Internet's routes");
    }

    #[test]
    fn each_engine_is_an_example() {
        let all = find("all").expect("an example").names();
        let engines = all.iter().filter_map(|name| name.strip_prefix("programs/"));
        let engines = engines.filter(|name| name.ends_with(".loom") && !name.contains('/'));
        for engine in engines.map(|name| name.trim_end_matches(".loom")) {
            // `figure2` is the figure of a paper and no engine for a network.
            assert!(engine == "figure2" || find(engine).is_some(), "{engine}");
        }
    }
}
