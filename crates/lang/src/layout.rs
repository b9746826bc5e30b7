//! Types as lists of leaves. Table files and packets in text use their names for fields.

use wireloom_offloads::Layout;

use crate::hir::{Enum, Program, Struct, Type};

/// Returns the leaves of a type, most significant first. `structs` and `enums` are the declarations
/// of the program.
pub(crate) fn layout(ty: &Type, structs: &[Struct], enums: &[Enum]) -> Layout {
    let mut leaves = Leaves { structs, enums, out: Layout::default() };
    leaves.add(ty, String::new());
    leaves.out
}

impl Program {
    /// Returns the name and the leaves of each declared header, in order of declaration.
    pub fn headers(&self) -> Vec<(String, Layout)> {
        let leaves = |fields: &Struct| {
            let mut leaves =
                Leaves { structs: &self.structs, enums: &self.enums, out: Layout::default() };
            leaves.fields(fields, "");
            (fields.name.clone(), leaves.out)
        };
        self.structs.iter().filter(|fields| fields.is_header).map(leaves).collect()
    }
}

struct Leaves<'a> {
    structs: &'a [Struct],
    enums: &'a [Enum],
    out: Layout,
}

impl Leaves<'_> {
    fn add(&mut self, ty: &Type, name: String) {
        let width = match ty {
            Type::Struct(id) => return self.fields(&self.structs[id.index()], &name),
            Type::Array(element, count) => {
                return (0..*count).for_each(|i| self.add(element, format!("{name}[{i}]")));
            }
            Type::Enum(id) => {
                let Enum { width, members, .. } = &self.enums[id.index()];
                let members = members.iter().map(|(name, value)| (name.clone(), value.low_u64()));
                self.out.enums.insert(name.clone(), members.collect());
                *width
            }
            Type::Bits(width) => *width,
            Type::Bool => 1,
            Type::Void => 0,
        };
        self.out.fields.push((name, width));
    }

    fn fields(&mut self, of: &Struct, name: &str) {
        for field in &of.fields {
            let inner = match name {
                "" => field.name.clone(),
                outer => format!("{outer}.{}", field.name),
            };
            self.add(&field.ty, inner);
        }
    }
}
