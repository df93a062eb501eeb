/// How the elements of a text stand, deleted ones among them: what hangs left of an element, the element, what hangs
/// right of it, then the next of its run. Several at one place stand by name.
///
/// It follows from the state alone, and is kept so that an edit finds its place without going through the text. Its
/// spans are rows of elements of one run, all of which are shown or not, in a balanced tree by place: a treap (Seidel
/// and Aragon, "Randomized search trees", 1996) whose priorities come from a counter, so that equal edits cost the same
/// everywhere. Finding a place, showing, hiding and inserting take the logarithm of the number of spans, on average.
struct TextOrder: Sendable {
  /// Consecutive elements of a run that stand beside each other.
  struct Span: Sendable {
    var run: TextRunID
    var first: UInt32
    var count: UInt32
    /// Whether the elements are part of the text: neither deleted nor of a base that another one has replaced.
    var isShown: Bool

    var end: UInt32 { first + count }
    /// The name of one of the elements.
    subscript(index: UInt32) -> TextElement { TextElement(run: run, offset: first + index) }
  }

  private struct Node: Sendable {
    var span: Span
    /// The number of elements that are shown, here and below.
    var shown: Int
    var left: Int32 = -1
    var right: Int32 = -1
    var parent: Int32 = -1
    var priority: UInt32
  }

  private var nodes: [Node] = []
  private var root: Int32 = -1
  /// The nodes of each run, ascending by place in it.
  private var places: [TextRunID: [Int32]] = [:]
  /// The elements that something hangs right of.
  private var continued: Set<TextElement> = []

  /// The number of elements that are shown.
  var count: Int { root < 0 ? 0 : nodes[Int(root)].shown }

  /// An order of nothing, with room for so many runs.
  init(runs count: Int) {
    nodes.reserveCapacity(2 * count)
    places.reserveCapacity(count)
  }

  // MARK: Looking up

  /// A place in the order: a span and an element of it.
  struct Place: Hashable, Sendable {
    fileprivate(set) var node: Int32
    fileprivate(set) var index: UInt32
  }

  /// The span at a place.
  func span(at place: Place) -> Span { nodes[Int(place.node)].span }

  /// The element at a place.
  func element(at place: Place) -> TextElement { span(at: place)[place.index] }

  /// The place of the element that is shown at an offset.
  /// - Precondition: there is one.
  func place(of offset: Int) -> Place {
    var (node, rest) = (root, offset)
    while true {
      let here = nodes[Int(node)]
      let before = here.left < 0 ? 0 : nodes[Int(here.left)].shown
      if rest < before {
        node = here.left
        continue
      }
      rest -= before
      let own = here.span.isShown ? Int(here.span.count) : 0
      if rest < own { return Place(node: node, index: UInt32(rest)) }
      rest -= own
      node = here.right
    }
  }

  /// Whether an element is known, and so has a place.
  func place(of element: TextElement) -> Place? {
    guard let own = places[element.run] else { return nil }
    let index = own.partition { nodes[Int($0)].span.end > element.offset }
    guard index < own.count, nodes[Int(own[index])].span.first <= element.offset else { return nil }
    return Place(node: own[index], index: element.offset - nodes[Int(own[index])].span.first)
  }

  /// The number of elements that are shown before a place.
  func offset(of place: Place) -> Int {
    let here = nodes[Int(place.node)]
    var offset = here.span.isShown ? Int(place.index) : 0
    if here.left >= 0 { offset += nodes[Int(here.left)].shown }
    var (node, up) = (place.node, here.parent)
    while up >= 0 {
      let above = nodes[Int(up)]
      if above.right == node {
        if above.left >= 0 { offset += nodes[Int(above.left)].shown }
        if above.span.isShown { offset += Int(above.span.count) }
      }
      (node, up) = (up, above.parent)
    }
    return offset
  }

  /// The first place of all.
  var first: Place? {
    guard root >= 0 else { return nil }
    var node = root
    while nodes[Int(node)].left >= 0 { node = nodes[Int(node)].left }
    return Place(node: node, index: 0)
  }

  /// The place that follows another one, whether or not it is shown.
  func next(after place: Place) -> Place? {
    if place.index + 1 < nodes[Int(place.node)].span.count { return Place(node: place.node, index: place.index + 1) }
    return next(after: place.node).map { Place(node: $0, index: 0) }
  }

  private func next(after node: Int32) -> Int32? {
    var node = node
    if nodes[Int(node)].right >= 0 {
      node = nodes[Int(node)].right
      while nodes[Int(node)].left >= 0 { node = nodes[Int(node)].left }
      return node
    }
    var up = nodes[Int(node)].parent
    while up >= 0, nodes[Int(up)].right == node { (node, up) = (up, nodes[Int(up)].parent) }
    return up < 0 ? nil : up
  }

  /// Whether an element is the last that is known of its run, and nothing hangs right of it.
  func isLast(_ element: TextElement) -> Bool {
    guard let last = places[element.run]?.last, nodes[Int(last)].span.end == element.offset + 1 else { return false }
    return !continued.contains(element)
  }

  /// Calls `body` with each span, in order.
  func forEachSpan(_ body: (Span) -> Void) {
    guard var node = first?.node else { return }
    while true {
      body(nodes[Int(node)].span)
      guard let next = next(after: node) else { return }
      node = next
    }
  }

  // MARK: Changing

  /// Notes that something hangs right of an element.
  mutating func noteContinued(_ element: TextElement) { continued.insert(element) }

  /// Adds a span to the end of everything. Meant for building: many in a row cost a constant each.
  mutating func append(_ span: Span) {
    if let last = nodes.indices.last, nodes[last].span.isShown == span.isShown, nodes[last].span.run == span.run,
      nodes[last].span.end == span.first
    {
      nodes[last].span.count += span.count
      return
    }
    let node = makeNode(span)
    // The right edge of the tree, from the end up to what has a greater priority.
    var (above, below) = (node - 1, Int32(-1))
    while above >= 0, nodes[Int(above)].priority < nodes[Int(node)].priority {
      (below, above) = (above, nodes[Int(above)].parent)
    }
    nodes[Int(node)].left = below
    if below >= 0 { nodes[Int(below)].parent = node }
    nodes[Int(node)].parent = above
    if above >= 0 { nodes[Int(above)].right = node } else { root = node }
  }

  /// Adds up what is shown below each node, after the last `append`.
  mutating func finish() {
    // Children before parents: down along the tree, and back.
    var order: [Int32] = root < 0 ? [] : [root]
    var next = 0
    while next < order.count {
      let node = nodes[Int(order[next])]
      if node.left >= 0 { order.append(node.left) }
      if node.right >= 0 { order.append(node.right) }
      next += 1
    }
    for node in order.reversed() { add(node) }
  }

  /// Puts a span behind a place, nil for the beginning. One that goes on in the span before it becomes a part of that.
  mutating func insert(_ span: Span, after place: Place?) {
    guard let place else { return attach(makeNode(span), after: -1) }
    let here = nodes[Int(place.node)].span
    if place.index + 1 == here.count, here.run == span.run, here.end == span.first, here.isShown == span.isShown {
      nodes[Int(place.node)].span.count += span.count
      addUp(from: place.node)
      return
    }
    split(place.node, at: place.index + 1)
    attach(makeNode(span), after: place.node)
  }

  /// Hides `count` elements that are shown, from an offset on, and calls `body` with the spans that they were.
  mutating func hide(_ count: Int, from offset: Int, _ body: (Span) -> Void) {
    var rest = count
    while rest > 0 {
      var place = place(of: offset)
      if place.index > 0 {
        split(place.node, at: place.index)
        guard let next = next(after: place.node) else { return }
        place = Place(node: next, index: 0)
      }
      if Int(nodes[Int(place.node)].span.count) > rest { split(place.node, at: UInt32(rest)) }
      nodes[Int(place.node)].span.isShown = false
      addUp(from: place.node)
      let span = nodes[Int(place.node)].span
      body(span)
      rest -= Int(span.count)
    }
  }

  /// Divides a node, so that a part of its elements has its own.
  private mutating func split(_ node: Int32, at index: UInt32) {
    let whole = nodes[Int(node)].span
    guard index > 0, index < whole.count else { return }
    nodes[Int(node)].span.count = index
    addUp(from: node)
    var rest = whole
    (rest.first, rest.count) = (whole.first + index, whole.count - index)
    attach(makeNode(rest), after: node)
  }

  private mutating func makeNode(_ span: Span) -> Int32 {
    let node = Int32(nodes.count)
    // A good mix of a counter (the finalizer of MurmurHash3).
    var priority = UInt32(truncatingIfNeeded: nodes.count) &* 0x9E37_79B9
    priority = (priority ^ priority >> 16) &* 0x85EB_CA6B
    priority = (priority ^ priority >> 13) &* 0xC2B2_AE35
    priority ^= priority >> 16
    nodes.append(Node(span: span, shown: span.isShown ? Int(span.count) : 0, priority: priority))
    if let slot = places.index(forKey: span.run) {
      let index = places.values[slot].partition { nodes[Int($0)].span.first > span.first }
      places.values[slot].insert(node, at: index)
    } else {
      places[span.run] = [node]
    }
    return node
  }

  // MARK: The tree

  private mutating func add(_ node: Int32) {
    let here = nodes[Int(node)]
    var shown = here.span.isShown ? Int(here.span.count) : 0
    if here.left >= 0 { shown += nodes[Int(here.left)].shown }
    if here.right >= 0 { shown += nodes[Int(here.right)].shown }
    nodes[Int(node)].shown = shown
  }

  private mutating func addUp(from node: Int32) {
    var node = node
    while node >= 0 {
      add(node)
      node = nodes[Int(node)].parent
    }
  }

  /// Puts a node behind another one, -1 for before all, and turns it up to where its priority belongs.
  private mutating func attach(_ node: Int32, after other: Int32) {
    var above = other
    if above < 0 {
      above = root
      while above >= 0, nodes[Int(above)].left >= 0 { above = nodes[Int(above)].left }
      if above >= 0 { nodes[Int(above)].left = node }
    } else if nodes[Int(above)].right < 0 {
      nodes[Int(above)].right = node
    } else {
      above = nodes[Int(above)].right
      while nodes[Int(above)].left >= 0 { above = nodes[Int(above)].left }
      nodes[Int(above)].left = node
    }
    nodes[Int(node)].parent = above
    if above < 0 { root = node }
    while nodes[Int(node)].parent >= 0,
      nodes[Int(nodes[Int(node)].parent)].priority < nodes[Int(node)].priority
    {
      turnUp(node)
    }
    addUp(from: node)
  }

  /// Exchanges a node and its parent, and keeps the order.
  private mutating func turnUp(_ node: Int32) {
    let above = nodes[Int(node)].parent
    let top = nodes[Int(above)].parent
    if nodes[Int(above)].left == node {
      let moved = nodes[Int(node)].right
      nodes[Int(above)].left = moved
      if moved >= 0 { nodes[Int(moved)].parent = above }
      nodes[Int(node)].right = above
    } else {
      let moved = nodes[Int(node)].left
      nodes[Int(above)].right = moved
      if moved >= 0 { nodes[Int(moved)].parent = above }
      nodes[Int(node)].left = above
    }
    nodes[Int(above)].parent = node
    nodes[Int(node)].parent = top
    if top < 0 {
      root = node
    } else if nodes[Int(top)].left == above {
      nodes[Int(top)].left = node
    } else {
      nodes[Int(top)].right = node
    }
    add(above)
  }
}
