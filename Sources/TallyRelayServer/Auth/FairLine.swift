#if Relay
  /// A line in which those who wait come in turn: one of each owner, round and round, and those of one owner in their
  /// order. One that brings a thousand keeps another's first waiting for one of its own, and not for a thousand.
  struct FairLine<Owner: Hashable, Element> {
    /// First in, first out, without moving the others each time.
    private struct Queue<Item> {
      private var items: [Item?] = []
      private var head = 0

      var count: Int { items.count - head }
      var first: Item? { head < items.count ? items[head] : nil }

      mutating func append(_ item: Item) { items.append(item) }

      mutating func removeFirst() -> Item? {
        guard head < items.count else { return nil }
        defer {
          items[head] = nil
          head += 1
          if head == items.count { (items, head) = ([], 0) } else if head >= 64, 2 * head >= items.count { trim() }
        }
        return items[head]
      }

      private mutating func trim() {
        items.removeFirst(head)
        head = 0
      }

      mutating func remove(where isMeant: (Item) -> Bool) -> Item? {
        guard let index = items[head...].firstIndex(where: { $0.map(isMeant) ?? false }) else { return nil }
        return items.remove(at: index)
      }
    }

    private var lines: [Owner: Queue<Element>] = [:]
    /// The owners of those who wait, each once, in the order of their turns.
    private var order = Queue<Owner>()
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    /// The next.
    var first: Element? { order.first.flatMap { lines[$0]?.first } }

    mutating func append(_ element: Element, of owner: Owner) {
      if lines[owner] == nil { order.append(owner) }
      lines[owner, default: Queue()].append(element)
      count += 1
    }

    mutating func removeFirst() -> Element? {
      guard let owner = order.removeFirst(), let element = lines[owner]?.removeFirst() else { return nil }
      // The owner has had a turn: its next comes after those of all others.
      if lines[owner]?.count == 0 { lines[owner] = nil } else { order.append(owner) }
      count -= 1
      return element
    }

    /// Takes one out that no longer waits.
    mutating func remove(of owner: Owner, where isMeant: (Element) -> Bool) -> Element? {
      guard let element = lines[owner]?.remove(where: isMeant) else { return nil }
      count -= 1
      if lines[owner]?.count == 0 {
        lines[owner] = nil
        _ = order.remove { $0 == owner }
      }
      return element
    }
  }
#endif
