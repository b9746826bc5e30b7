use super::*;

#[test]
fn any_three_numbers_name_a_machine() {
    let machine = NpSpec::find("np-16-6-4").unwrap();
    assert_eq!((machine.clusters, machine.engines, machine.threads), (16, 6, 4));
    assert_eq!((machine.lanes(), machine.clusters_a_pipe()), (2, 8));
    assert_eq!(NpSpec::find("np-3-1-7").unwrap().lanes(), 1);
}

#[test]
fn lanes_are_two_from_sixteen_clusters_on_if_these_can_be_halved() {
    for (clusters, lanes) in [(14, 1), (15, 1), (16, 2), (17, 1), (18, 2)] {
        assert_eq!(
            NpSpec::find(&format!("np-{clusters}-1-1")).unwrap().lanes(),
            lanes,
            "{clusters}"
        );
    }
}

#[test]
fn the_common_description_states_every_key() {
    let stated = Description::built_in("np").table;
    let mut all = toml::Table::try_from(NpSpec::find("np").unwrap()).unwrap();
    assert!(all.remove("name").is_some(), "no key: the file's own");
    let inside = |table: &toml::Table, other: &toml::Table| {
        table.keys().filter(|key| !other.contains_key(*key)).cloned().collect::<Vec<_>>()
    };
    assert!(inside(&all, &stated).is_empty(), "{:?}", inside(&all, &stated));
    for (section, keys) in all.iter().filter(|(name, _)| *name != "offload") {
        if let (Some(keys), Some(there)) = (keys.as_table(), stated[section].as_table()) {
            assert!(inside(keys, there).is_empty(), "[{section}]: {:?}", inside(keys, there));
        }
    }
    // The default description lists every key that a rule has by default, with its default value.
    let least = "extends = \"np\"\n[offload.own]\nrealisation = \"table\"\nplace = \"pipe\"";
    let least =
        toml::Table::try_from(NpSpec::parse("mine", least).unwrap().offload["own"]).unwrap();
    let rules = stated["offload"].as_table().unwrap();
    for (key, value) in
        least.iter().filter(|(key, _)| !["realisation", "place"].contains(&key.as_str()))
    {
        let mut said = rules.values().filter_map(|rule| rule.get(key)).peekable();
        assert!(said.peek().is_some() && said.all(|stated| stated == value), "{key}");
    }
}

#[test]
fn a_machine_can_have_another_shape() {
    let np = NpSpec::find("np").unwrap();
    assert_eq!(np.shaped(16, 6, 4).unwrap(), NpSpec::find("np-16-6-4").unwrap());
    let own = NpSpec::parse("mine", "extends = \"np\"\n[engine]\nheader_reads = 1").unwrap();
    let shaped = own.shaped(4, 2, 1).unwrap();
    assert_eq!((shaped.name.as_str(), shaped.engine.header_reads), ("mine (4-2-1)", 1));
    assert!(np.shaped(65, 1, 1).is_err());
    let lanes = |machine: &NpSpec, lanes| {
        let machine = machine.with_lanes(lanes).shaped(8, 3, 4).unwrap();
        (machine.lanes(), machine.name)
    };
    assert_eq!(lanes(&np, 2), (2, "np with 2 lanes (8-3-4)".to_owned()));
    let two = NpSpec::find("np-200mpps").unwrap();
    assert_eq!(lanes(&two, 1), (1, "np-200mpps with 1 lane (8-3-4)".to_owned()));
    assert_eq!(lanes(&two, 2), (2, "np-200mpps (8-3-4)".to_owned()));
}

#[test]
fn what_is_no_machine_is_refused_in_a_sentence() {
    let message = |name: &str| NpSpec::find(name).unwrap_err().to_string();
    assert!(message("np-16-6").contains("np-C-E-T"));
    assert!(!message("native").contains("golden"), "only network processors are looked for");
    assert!(message("np-0-1-1").contains("`clusters` is 0; it can be 1 to 64"));
    assert!(message("missing.toml").starts_with("missing.toml: "));
}

#[test]
fn only_tables_outside_the_chip_take_several_requests_a_cycle() {
    let machine = |what: &str| {
        let text = format!("extends = \"np\"\n[offload.{what}");
        NpSpec::parse("mine", &text).map_err(|error| error.to_string())
    };
    assert_eq!(machine("labels]\nrequests = 3").unwrap().offload["labels"].requests, 3);
    for (what, said) in
        [("lpm]\nrequests = 2", "`offload.lpm`"), ("labels]\nrequests = 0", "is 0;")]
    {
        let message = machine(what).unwrap_err();
        assert!(message.contains(said) && message.contains("`requests`"), "{message}");
    }
}

#[test]
fn a_description_changes_what_it_names() {
    let text = "extends = \"np\"\nclusters = 4\n[engine]\nstorage = \"block\"\n[offload.ports]\nrealisation = \"table\"\nplace = \"cluster\"";
    let machine = NpSpec::parse("mine", text).unwrap();
    assert_eq!((machine.clusters, machine.engines), (4, 2));
    assert_eq!(machine.engine.storage, Storage::Block);
    assert_eq!(machine.engine.scheduler, Scheduler::ReadyToExecute);
    assert_eq!(machine.rule("ports", "array").unwrap().place, Place::Cluster);
    assert_eq!(machine.rule("next_hops", "array").unwrap().place, Place::Pipe);
    assert_eq!(machine.rule("words", "stream"), None);
}

#[test]
fn sections_for_nothing_are_those_of_own_files_without_offload_or_kind() {
    let folder = tempfile::tempdir().unwrap();
    let rule = "realisation = \"table\"\nplace = \"pipe\"\n";
    let write = |name: &str, extends: &str, sections: &[&str]| {
        let sections = sections.iter().map(|section| format!("[offload.{section}]\n{rule}"));
        let text = format!("extends = \"{extends}\"\n{}", sections.collect::<String>());
        std::fs::write(folder.path().join(name), text).unwrap();
    };
    // The section `[offload.ports]` of np-200mpps is not the user's own.
    write("below.toml", "np-200mpps", &["prots", "array"]);
    write("own.toml", "below", &["labbels", "next_hops", "engine"]);
    let machine = NpSpec::find(folder.path().join("own.toml").to_str().unwrap()).unwrap();
    let idle: Vec<&str> = machine.sections_for_nothing(&["next_hops", "labels"]).collect();
    assert_eq!(idle, ["prots", "labbels"]);
    assert_eq!(NpSpec::find("np-200mpps").unwrap().sections_for_nothing(&[]).count(), 0);
}

#[test]
fn wrong_descriptions_say_what_is_wrong() {
    let message = |text: &str| NpSpec::parse("mine", text).unwrap_err().to_string();
    assert!(message("extends = \"np\"\nclustres = 4").contains("clustres"));
    assert!(message("extends = \"nothing\"").contains("nothing.toml"));
    assert!(message("extends = 7").contains("`extends` is the name"));
    assert!(message("extends = \"np\"\nclusters = ").contains("TOML"));
    assert!(
        message("extends = \"np\"\nlanes = 3")
            .contains("2 clusters cannot be shared out over 3 lanes")
    );
    assert!(
        message("extends = \"np\"\n[engine]\nshell = \"state-machine\"").contains("threads = 1")
    );
    for (shell, storage, complaint) in [
        (
            "threads = 1\n[engine]\nshell = \"state-machine\"",
            "block",
            "engine.storage = \"block-windows\"",
        ),
        ("[engine]\nshell = \"pipelined\"", "block", "engine.storage = \"lut\""),
        ("[engine]\nshell = \"pipelined\"", "block-windows", "engine.storage = \"lut\""),
    ] {
        let said = message(&format!("extends = \"np\"\n{shell}\nstorage = \"{storage}\""));
        assert!(said.contains(complaint), "{said}");
    }
    assert!(
        message("extends = \"np\"\n[offload.lpm]\nrealisation = \"trie\"\nplace = \"engine\"")
            .contains("only a table")
    );
}

#[test]
fn a_word_of_the_header_has_four_eight_or_sixteen_bytes() {
    let machine = |bytes: &str| {
        NpSpec::parse("mine", &format!("extends = \"np\"\n[engine]\nheader_bytes = {bytes}"))
    };
    assert_eq!(NpSpec::find("np").unwrap().engine.header_bytes, 16);
    for bytes in [4, 8, 16] {
        let machine = machine(&bytes.to_string()).unwrap();
        let ports = machine.pass_options().header.unwrap();
        assert_eq!((ports.reads, ports.writes, ports.bytes), (2, 1, bytes));
    }
    let message = |bytes: &str| machine(bytes).unwrap_err().to_string();
    for bytes in ["0", "1", "12"] {
        let said = message(bytes);
        assert!(
            said.ends_with(&format!("`engine.header_bytes` is {bytes}; it can be 4, 8 or 16")),
            "{said}"
        );
    }
    let wide = message("32");
    assert!(wide.contains("is 32; it can be 4, 8 or 16; two ports of 16 bytes"), "{wide}");
    assert!(message("-8").contains("header_bytes"), "no number of bytes");
}

#[test]
fn narrow_ports_share_one_lane() {
    let four = NpSpec::find("np-four-10g").unwrap();
    assert!(four.ports.are_narrow());
    assert_eq!((four.ports.bytes, four.ports.numbers.as_slice()), (8, [0, 1, 2, 3].as_slice()));
    let message = |keys: &str| {
        let text = format!("extends = \"np-four-10g\"\n{keys}");
        NpSpec::parse("mine", &text).unwrap_err().to_string()
    };
    assert!(
        message("clusters = 4\nlanes = 2")
            .contains("narrow ports share one lane, and the machine has 2")
    );
    assert!(
        message("[ports]\nbytes = 32").contains("4 ports of 32 bytes a cycle are more than the 64")
    );
    assert!(message("[ports]\nbytes = 12").contains("`bytes` is 12; it can be 8, 16, 32 or 64"));
    assert!(message("[ports]\nnumbers = [4, 7, 4]").contains("`numbers` has 4 twice"));
    assert!(message("[ports]\nnumbers = []").contains("names 0 ports"));
    assert!(message("[ports]\nqueue_beats = 1").contains("`queue_beats` is 1"));
}

#[test]
fn files_that_extend_each_other_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    for (name, other) in [("a", "b"), ("b", "a")] {
        std::fs::write(
            folder.path().join(format!("{name}.toml")),
            format!("extends = \"{other}\""),
        )
        .unwrap();
    }
    let path = folder.path().join("a.toml");
    assert!(
        NpSpec::find(path.to_str().unwrap()).unwrap_err().to_string().contains("extend each other")
    );
}
