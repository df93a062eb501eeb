/// One element of an observed-remove set: the tags that adds have made for it, and which of them were removed.
///
/// A relationship is such a set for each of its targets. An add makes a new tag; a remove marks the tags it has
/// observed, so an add that the remover had not seen wins over the remove (Shapiro et al., 2011, specification 15).
/// Unlike there, a removed tag stays as a tombstone until compaction, with the stamp of its removal, and removing is
/// itself something a state vector counts.
///
/// In an ordered relationship an element also has a place among the others: one register, of which the latest write
/// stays. It is no add: it neither makes a member nor keeps one, and stays when members come and go.
public struct ORSetElement: Hashable, Sendable {
  /// One add, and its removal if there was one.
  public struct Tag: Hashable, Sendable {
    /// The add; its dot names the tag.
    public var added: Stamp
    /// The removal; of several concurrent ones the greatest stamp.
    public var removed: Stamp?

    /// Creates a tag from the stamps of its add and, if there is one, its removal.
    @inlinable
    public init(added: Stamp, removed: Stamp? = nil) {
      self.added = added
      self.removed = removed
    }
  }

  /// Where an element stands among the others of an ordered relationship.
  public struct Place: Hashable, Sendable {
    /// The write of the place.
    public var stamp: Stamp
    /// The place itself: elements order by it, then by name.
    public var position: ListPosition

    /// Creates a place from the stamp of its write and the position.
    @inlinable
    public init(stamp: Stamp, position: ListPosition) {
      self.stamp = stamp
      self.position = position
    }

    /// Whether this write wins over another one: the later; of two under one stamp, which only two copies of one
    /// replica write, that of the greater position.
    func wins(over other: Place) -> Bool {
      stamp != other.stamp ? other.stamp < stamp : other.position < position
    }
  }

  /// A place on the heap: most elements have none, and pay one word for it.
  private final class PlaceBox: Sendable {
    let place: Place
    init(_ place: Place) { self.place = place }
  }

  /// All tags, ascending by the dot of the add; no two with the same.
  public var tags: [Tag]
  private var placeBox: PlaceBox?

  /// The place among the other elements; nil if none was ever written.
  public var place: Place? {
    get { placeBox?.place }
    set { placeBox = newValue.map(PlaceBox.init) }
  }

  /// Whether nothing was ever written of the element.
  public var isEmpty: Bool { tags.isEmpty && placeBox == nil }

  /// An element that was never added.
  public init() { tags = [] }

  /// An element that was added once.
  public init(added stamp: Stamp) { tags = [Tag(added: stamp)] }

  /// Whether both have the same tags and the same place.
  public static func == (lhs: ORSetElement, rhs: ORSetElement) -> Bool {
    lhs.tags == rhs.tags && (lhs.placeBox === rhs.placeBox || lhs.place == rhs.place)
  }

  /// Feeds the same parts that equality compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(tags)
    hasher.combine(place)
  }

  /// Whether some tag is not removed. For tags of seeds see `isMember(shownSeed:)`.
  public var isMember: Bool { tags.contains { $0.removed == nil } }

  /// The stamp of the only add if no other add and no removal ever happened, or nil.
  @inlinable
  public var uniformStamp: Stamp? {
    tags.count == 1 && tags[0].removed == nil ? tags[0].added : nil
  }

  /// The dots of the tags that people added and that were never removed.
  public var liveDots: [Dot] { tags.filter { $0.removed == nil && $0.added.rank >= .user }.map { $0.added.dot } }

  /// Every dot in the state: of adds and removals, and of the place.
  public var dots: Set<Dot> {
    var dots = Set(tags.map { $0.added.dot }).union(tags.compactMap { $0.removed?.dot })
    if let placeBox { dots.insert(placeBox.place.stamp.dot) }
    return dots
  }

  /// The latest time of any add or removal; nil if there are no tags. A new add or removal is stamped over it.
  public var latestTime: HybridTime? {
    tags.map { max($0.added.time, $0.removed?.time ?? $0.added.time) }.max()
  }

  /// Adds the element: one new tag. A transaction has at most one tag of an element: a second add with its dot changes
  /// nothing.
  public mutating func add(_ stamp: Stamp) {
    guard !tags.contains(where: { $0.added.dot == stamp.dot }) else { return }
    tags.append(Tag(added: stamp))
    tags.sort { $0.added.dot < $1.added.dot }
  }

  /// Removes the element: marks the live tags that are here. Tags that come later, or from elsewhere, are not affected.
  public mutating func remove(_ stamp: Stamp) {
    for index in tags.indices where tags[index].removed == nil { tags[index].removed = stamp }
  }

  /// Gives the element a place; one that was written later stays.
  public mutating func move(_ stamp: Stamp, to position: ListPosition) {
    let new = Place(stamp: stamp, position: position)
    if place.map({ new.wins(over: $0) }) ?? true { place = new }
  }

  /// Joins another state of the same element: the union of tags, the greatest removal of each, the latest place.
  /// Commutative, associative, idempotent. Cost: the sum of the numbers of tags.
  public mutating func merge(_ other: ORSetElement) {
    if let theirs = other.placeBox, theirs !== placeBox, place.map({ theirs.place.wins(over: $0) }) ?? true {
      placeBox = theirs
    }
    var merged: [Tag] = []
    merged.reserveCapacity(max(tags.count, other.tags.count))
    var rest = other.tags[...]
    for var tag in tags {
      while let next = rest.first, next.added.dot < tag.added.dot { merged.append(rest.removeFirst()) }
      if let same = rest.first, same.added.dot == tag.added.dot {
        tag.added = max(tag.added, same.added)
        if let removed = same.removed { tag.removed = max(removed, tag.removed ?? removed) }
        rest.removeFirst()
      }
      merged.append(tag)
    }
    tags = merged + rest
    checkInvariants()
  }

  /// Whether a tag is here just as it is. Cost: the logarithm of the number of tags.
  package func contains(_ tag: Tag) -> Bool {
    var (low, high) = (0, tags.count)
    while low < high {
      let middle = (low + high) / 2
      if tags[middle].added.dot < tag.added.dot { low = middle + 1 } else { high = middle }
    }
    return low < tags.count && tags[low] == tag
  }

  /// The least upper bound of both states; neither changes. See `merge(_:)`.
  public func merging(_ other: ORSetElement) -> ORSetElement {
    var result = self
    result.merge(other)
    return result
  }

  /// The part of the state that a peer with the vector `vector` lacks: each tag whose add or whose removal it lacks,
  /// and the place; nil if it lacks nothing.
  public func delta(since vector: StateVector) -> ORSetElement? {
    var result = ORSetElement()
    result.tags = tags.filter { tag in
      !vector.covers(tag.added.dot) || tag.removed.map { !vector.covers($0.dot) } ?? false
    }
    if let placeBox, !vector.covers(placeBox.place.stamp.dot) { result.placeBox = placeBox }
    return result.isEmpty ? nil : result
  }
}
