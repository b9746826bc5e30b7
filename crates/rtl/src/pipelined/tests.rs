use super::*;
use crate::tables::{IPV4, IPV6};

#[test]
fn dump() {
    for shape in [IPV4, IPV6] {
        let lookup = lookup(&shape).unwrap();
        let name = shape.engine;
        std::fs::write(format!("/tmp/{name}_pipeline.sv"), lookup.pipeline.module.print()).unwrap();
        std::fs::write(format!("/tmp/{name}_lookup.sv"), lookup.module.print()).unwrap();
        println!("{name} depth {} latency {}", lookup.pipeline.depth, lookup.latency(8));
    }
}
