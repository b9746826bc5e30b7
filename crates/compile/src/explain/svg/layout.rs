//! Layered layout of a step graph (after Sugiyama, Tagawa and Toda, 1981). Layers follow the
//! longest path, dummy nodes split long edges, barycentres reduce crossings, and nodes are pulled
//! towards their neighbours.

/// Gap between boxes of one layer, in pixels.
const GAP_X: f64 = 36.0;
/// Gap between layers, in pixels.
const GAP_Y: f64 = 56.0;
/// Width in pixels of an edge where it passes a layer.
const LANE: f64 = 10.0;
/// Rounds of ordering and of pulling. The layout settles after a few.
const ROUNDS: usize = 24;

/// The rectangle of a box: its upper left corner and its size, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// The x coordinate of the left edge.
    pub x: f64,
    /// The y coordinate of the upper edge.
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    /// Returns the x coordinate of the centre.
    pub fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    /// Returns the y coordinate of the lower edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// A finished layout.
pub struct Layout {
    /// The boxes, in the order given.
    pub boxes: Vec<Rect>,
    /// For each edge, the points at which it enters and leaves each layer between its ends, from
    /// top to bottom.
    pub ways: Vec<Vec<(f64, f64)>>,
    /// Width and height of the picture.
    pub size: (f64, f64),
}

struct Node {
    layer: usize,
    width: f64,
    height: f64,
    x: f64,
    above: Vec<usize>,
    below: Vec<usize>,
}

/// Lays out boxes of the given sizes. The edges must form no cycle.
pub fn layout(sizes: &[(f64, f64)], edges: &[(usize, usize)]) -> Layout {
    let layer = layers_of(sizes.len(), edges);
    let mut nodes: Vec<Node> = sizes
        .iter()
        .zip(&layer)
        .map(|(&(width, height), &layer)| Node {
            layer,
            width,
            height,
            x: 0.0,
            above: vec![],
            below: vec![],
        })
        .collect();
    let chains: Vec<Vec<usize>> = edges.iter().map(|&edge| chain(&mut nodes, edge)).collect();
    let mut layers = vec![Vec::new(); nodes.iter().map(|n| n.layer + 1).max().unwrap_or(0)];
    for (index, node) in nodes.iter().enumerate() {
        layers[node.layer].push(index);
    }
    order(&nodes, &mut layers);
    place(&mut nodes, &layers);
    finish(&nodes, &layers, &chains, sizes.len())
}

/// Returns the layer of each box: the length of the longest path to it.
fn layers_of(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layer = vec![0usize; count];
    // No path is longer than the number of boxes.
    for _ in 0..count {
        let mut changed = false;
        for &(from, to) in edges {
            if layer[to] <= layer[from] {
                layer[to] = layer[from] + 1;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    layer
}

/// Splits an edge into pieces from layer to layer. Returns the dummy nodes.
fn chain(nodes: &mut Vec<Node>, (from, to): (usize, usize)) -> Vec<usize> {
    let mut dummies = Vec::new();
    let mut last = from;
    for layer in nodes[from].layer + 1..nodes[to].layer {
        let dummy = nodes.len();
        nodes.push(Node {
            layer,
            width: LANE,
            height: 0.0,
            x: 0.0,
            above: vec![last],
            below: vec![],
        });
        nodes[last].below.push(dummy);
        dummies.push(dummy);
        last = dummy;
    }
    nodes[last].below.push(to);
    nodes[to].above.push(last);
    dummies
}

fn crossings(nodes: &[Node], layers: &[Vec<usize>]) -> usize {
    let mut position = vec![0; nodes.len()];
    for layer in layers {
        layer.iter().enumerate().for_each(|(i, &n)| position[n] = i);
    }
    let of_layer = |layer: &Vec<usize>| {
        let ends: Vec<(usize, usize)> = layer
            .iter()
            .flat_map(|&n| nodes[n].below.iter().map(move |&b| (n, b)))
            .map(|(a, b)| (position[a], position[b]))
            .collect();
        let crosses =
            |(a, b): (usize, usize), (c, d): (usize, usize)| (a < c && b > d) || (a > c && b < d);
        (0..ends.len())
            .map(|i| ends[i + 1..].iter().filter(|&&other| crosses(ends[i], other)).count())
            .sum::<usize>()
    };
    layers.iter().map(of_layer).sum()
}

/// Orders each layer by the mean position of its neighbours, alternately downwards and upwards.
/// Keeps the best order found.
fn order(nodes: &[Node], layers: &mut [Vec<usize>]) {
    let mut best = (crossings(nodes, layers), layers.to_vec());
    for round in 0..ROUNDS {
        let down = round % 2 == 0;
        let mut position = vec![0.0; nodes.len()];
        for layer in layers.iter() {
            layer.iter().enumerate().for_each(|(i, &n)| position[n] = i as f64);
        }
        let indices: Vec<usize> =
            if down { (0..layers.len()).collect() } else { (0..layers.len()).rev().collect() };
        for index in indices {
            let centre = |n: usize| {
                let around = if down { &nodes[n].above } else { &nodes[n].below };
                if around.is_empty() {
                    return position[n];
                }
                around.iter().map(|&a| position[a]).sum::<f64>() / around.len() as f64
            };
            let mut keyed: Vec<(f64, usize)> =
                layers[index].iter().map(|&n| (centre(n), n)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            layers[index] = keyed.into_iter().map(|(_, n)| n).collect();
            layers[index].iter().enumerate().for_each(|(i, &n)| position[n] = i as f64);
        }
        let count = crossings(nodes, layers);
        if count < best.0 {
            best = (count, layers.to_vec());
        }
    }
    layers.clone_from_slice(&best.1);
}

/// Pulls nodes towards the mean of their neighbours without letting them touch.
fn place(nodes: &mut [Node], layers: &[Vec<usize>]) {
    for layer in layers {
        let mut x = 0.0;
        for &n in layer {
            nodes[n].x = x + nodes[n].width / 2.0;
            x += nodes[n].width + GAP_X;
        }
    }
    for round in 0..ROUNDS {
        let down = round % 2 == 0;
        let indices: Vec<usize> =
            if down { (0..layers.len()).collect() } else { (0..layers.len()).rev().collect() };
        for index in indices {
            let layer = &layers[index];
            let wanted: Vec<f64> = layer
                .iter()
                .map(|&n| {
                    let around = if down { &nodes[n].above } else { &nodes[n].below };
                    if around.is_empty() {
                        nodes[n].x
                    } else {
                        around.iter().map(|&a| nodes[a].x).sum::<f64>() / around.len() as f64
                    }
                })
                .collect();
            let placed = without_overlap(nodes, layer, &wanted);
            layer.iter().zip(placed).for_each(|(&n, x)| nodes[n].x = x);
        }
    }
}

/// Finds the positions nearest to the wanted ones without overlap or change of order. Neighbours
/// that would touch move as one block. Its position is the mean of the positions that its members
/// want.
fn without_overlap(nodes: &[Node], layer: &[usize], wanted: &[f64]) -> Vec<f64> {
    // Offset of each node from the layer's left end if all are packed.
    let mut offsets = Vec::new();
    let mut at = 0.0;
    for (i, &n) in layer.iter().enumerate() {
        if i > 0 {
            at += (nodes[layer[i - 1]].width + nodes[n].width) / 2.0 + GAP_X;
        }
        offsets.push(at);
    }
    // Blocks of consecutive nodes: sum of wanted left ends, and number.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (wanted, offset) in wanted.iter().zip(&offsets) {
        blocks.push((wanted - offset, 1));
        while let [.., (a, n), (b, m)] = blocks[..]
            && a / n as f64 > b / m as f64
        {
            blocks.truncate(blocks.len() - 2);
            blocks.push((a + b, n + m));
        }
    }
    let starts = blocks.iter().flat_map(|&(sum, n)| std::iter::repeat_n(sum / n as f64, n));
    starts.zip(offsets).map(|(start, offset)| start + offset).collect()
}

fn finish(nodes: &[Node], layers: &[Vec<usize>], chains: &[Vec<usize>], count: usize) -> Layout {
    let left = nodes.iter().map(|n| n.x - n.width / 2.0).fold(f64::INFINITY, f64::min);
    let right = nodes.iter().map(|n| n.x + n.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
    let mut tops = Vec::new();
    let mut y = 0.0;
    for layer in layers {
        let height = layer.iter().map(|&n| nodes[n].height).fold(0.0, f64::max);
        tops.push((y, height));
        y += height + GAP_Y;
    }
    let boxes = nodes[..count]
        .iter()
        .map(|n| {
            let (y, _) = tops[n.layer];
            Rect { x: n.x - n.width / 2.0 - left, y, width: n.width, height: n.height }
        })
        .collect();
    let way = |chain: &Vec<usize>| {
        let points = chain.iter().flat_map(|&n| {
            let (y, height) = tops[nodes[n].layer];
            [(nodes[n].x - left, y), (nodes[n].x - left, y + height)]
        });
        points.collect()
    };
    let width = if nodes.is_empty() { 0.0 } else { right - left };
    Layout { boxes, ways: chains.iter().map(way).collect(), size: (width, (y - GAP_Y).max(0.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_of_one_layer_do_not_touch_and_layers_follow_each_other() {
        let sizes = vec![(100.0, 40.0); 6];
        let edges = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 5), (0, 5)];
        let layout = layout(&sizes, &edges);
        for (i, a) in layout.boxes.iter().enumerate() {
            for b in &layout.boxes[i + 1..] {
                let apart = a.x + a.width < b.x
                    || b.x + b.width < a.x
                    || a.bottom() < b.y
                    || b.bottom() < a.y;
                assert!(apart, "{a:?} {b:?}");
            }
        }
        assert!(edges.iter().all(|&(from, to)| layout.boxes[from].bottom() < layout.boxes[to].y));
        // The long edge passes one layer. It enters and leaves it.
        assert_eq!(layout.ways[6].len(), 2);
    }

    #[test]
    fn an_order_without_crossings_is_found() {
        // 0 and 1 lead to 3 and 2, crosswise.
        let mut nodes = Vec::new();
        for layer in [0, 0, 0, 1, 1] {
            nodes.push(Node {
                layer,
                width: 1.0,
                height: 1.0,
                x: 0.0,
                above: vec![],
                below: vec![],
            });
        }
        for (from, to) in [(0, 4), (1, 3), (2, 3)] {
            nodes[from].below.push(to);
            nodes[to].above.push(from);
        }
        let mut layers = vec![vec![0, 1, 2], vec![3, 4]];
        assert_eq!(crossings(&nodes, &layers), 2);
        order(&nodes, &mut layers);
        assert_eq!(crossings(&nodes, &layers), 0);
    }
}
