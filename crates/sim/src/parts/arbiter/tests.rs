use super::*;
use proptest::prelude::*;

fn asking(contenders: usize, who: &[usize]) -> Requests {
    let mut requests = Requests::new(contenders);
    who.iter().for_each(|&one| requests.insert(one));
    requests
}

fn fair() -> impl Strategy<Value = ArbiterSpec> {
    prop_oneof![Just(ArbiterSpec::RoundRobin), Just(ArbiterSpec::LeastRecent)]
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: prop::test_runner::RngSeed::Fixed(5), failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_grant_goes_to_one_who_asks(
        spec in prop_oneof![fair(), Just(ArbiterSpec::Fixed), Just(ArbiterSpec::Weighted((1..=130).collect()))],
        rounds in prop::collection::vec(prop::collection::btree_set(0usize..130, 0..6), 1..50),
    ) {
        let mut arbiter = Arbiter::new(&spec, 130).unwrap();
        for round in rounds {
            let requests = asking(130, &round.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(requests.iter().collect::<Vec<_>>(), round.iter().copied().collect::<Vec<_>>());
            match arbiter.grant(&requests) {
                Some(granted) => prop_assert!(round.contains(&granted)),
                None => prop_assert!(round.is_empty()),
            }
        }
    }

    /// A contender that requests until it is granted waits for at most one grant of each other
    /// contender, whatever they do.
    #[test]
    fn fair_arbiters_grant_within_a_round(
        spec in fair(),
        contenders in 1usize..80,
        patient in 0usize..80,
        others in prop::collection::vec(any::<u128>(), 80),
        warm in 0usize..40,
    ) {
        let patient = patient % contenders;
        let mut arbiter = Arbiter::new(&spec, contenders).unwrap();
        let who = |bits: u128| (0..contenders).filter(|one| bits >> one & 1 != 0).collect::<Vec<_>>();
        for bits in &others[..warm] {
            arbiter.grant(&asking(contenders, &who(*bits)));
        }
        let mut waited = 0;
        loop {
            let mut requests = asking(contenders, &who(others[(warm + waited) % 80]));
            requests.insert(patient);
            if arbiter.grant(&requests) == Some(patient) {
                break;
            }
            waited += 1;
            prop_assert!(waited < contenders, "{} of {contenders} waits", patient);
        }
    }

    #[test]
    fn least_recent_is_a_list_whose_granted_go_to_the_end(rounds in prop::collection::vec(any::<u128>(), 1..100)) {
        let mut arbiter = Arbiter::new(&ArbiterSpec::LeastRecent, 70).unwrap();
        let mut list: Vec<usize> = (0..70).collect();
        for bits in rounds {
            let requests = asking(70, &(0..70).filter(|one| bits >> one & 1 != 0).collect::<Vec<_>>());
            let expected = list.iter().copied().find(|one| requests.contains(*one));
            prop_assert_eq!(arbiter.grant(&requests), expected);
            if let Some(one) = expected {
                list.retain(|other| *other != one);
                list.push(one);
            }
        }
    }
}

fn grants(spec: ArbiterSpec, contenders: usize, rounds: usize) -> Vec<usize> {
    let mut arbiter = Arbiter::new(&spec, contenders).unwrap();
    let all = asking(contenders, &(0..contenders).collect::<Vec<_>>());
    (0..rounds).map(|_| arbiter.grant(&all).unwrap()).collect()
}

#[test]
fn a_fixed_priority_lets_others_wait_for_ever() {
    assert_eq!(grants(ArbiterSpec::Fixed, 3, 4), [0; 4]);
}

#[test]
fn round_robin_goes_round() {
    assert_eq!(grants(ArbiterSpec::RoundRobin, 3, 7), [0, 1, 2, 0, 1, 2, 0]);
}

#[test]
fn weights_are_shares() {
    assert_eq!(
        grants(ArbiterSpec::Weighted(vec![3, 1, 2]), 3, 12),
        [0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2]
    );
    // A contender without a request gives up its turn. A single contender gets every grant.
    let mut arbiter = Arbiter::new(&ArbiterSpec::Weighted(vec![3, 1, 2]), 3).unwrap();
    assert_eq!(
        [(); 4].map(|()| arbiter.grant(&asking(3, &[1, 2]))),
        [Some(1), Some(2), Some(2), Some(1)]
    );
    assert_eq!([(); 4].map(|()| arbiter.grant(&asking(3, &[1]))), [Some(1); 4]);
}

#[test]
fn a_machine_file_names_the_policy() {
    #[derive(Deserialize)]
    struct File {
        arbiter: ArbiterSpec,
    }
    let read = |text: &str| toml::from_str::<File>(text).map(|file| file.arbiter);
    assert_eq!(read("arbiter = \"least-recent\"").unwrap(), ArbiterSpec::LeastRecent);
    let weighted = read("arbiter = { weighted = [1, 0] }").unwrap();
    let error = |contenders| Arbiter::new(&weighted, contenders).unwrap_err().to_string();
    assert_eq!(error(2), "`weighted`: weight 1 is 0; it can be 1 or more");
    assert_eq!(error(3), "`weighted`: has 2 weights; there are 3 contenders");
    assert!(read("arbiter = \"random\"").is_err());
}
