import TallyCRDT
import TallyWire

/// The bodies of links.
extension StateCoding {
  private static let link: UInt8 = 2
  /// Of a link that has a place.
  private static let placedLink: UInt8 = 0x12

  /// Encodes a link's state without the position that its row shows; nil for none.
  static func encode(
    _ element: ORSetElement, _ sum: StateSum, shown: ListPosition? = nil,
    replicaNumber: (ReplicaID) throws -> ReplicaNumber
  ) rethrows -> [UInt8] {
    var writer = ByteWriter()
    let place = element.place
    writer.byte(place == nil ? link : placedLink)
    writer.append(sum)
    var stamps = StampTable()
    for tag in element.tags {
      stamps.note(tag.added)
      if let removed = tag.removed { stamps.note(removed) }
    }
    if let place { stamps.note(place.stamp) }
    try stamps.encode(to: &writer, replicaNumber)
    writer.varint(element.tags.count)
    for tag in element.tags {
      writer.varint(stamps.number(of: tag.added))
      writer.varint(tag.removed.map { stamps.number(of: $0) + 1 } ?? 0)
    }
    guard let place else { return writer.bytes }
    writer.varint(stamps.number(of: place.stamp))
    writer.varint(place.position == shown ? 0 : place.position.bytes.count)
    if place.position != shown { writer.bytes += place.position.bytes }
    return writer.bytes
  }

  /// Reads a link; `shown` is the position that its row shows.
  static func decodeLink(
    _ bytes: UnsafeRawBufferPointer, _ states: StateReader, shown: ListPosition? = nil
  ) throws -> (element: ORSetElement, sum: StateSum) {
    var reader = ByteReader(bytes)
    do {
      return try decodeLink(&reader, states, shown)
    } catch let error as WireError {
      throw StoreError(stored: error)
    }
  }

  private static func decodeLink(
    _ reader: inout ByteReader, _ states: StateReader, _ shown: ListPosition?
  ) throws -> (element: ORSetElement, sum: StateSum) {
    let kind = try reader.byte()
    guard kind == link || kind == placedLink else { throw StoreError(.corrupt, "a stored state is not a link") }
    let sum = try reader.stateSum()
    let stamps = try StampTable.decode(&reader, states.catalog.replicas)
    var element = ORSetElement()
    for _ in 0..<(try reader.count(ofElementsWithAtLeast: 2, "tags")) {
      var tag = ORSetElement.Tag(added: try stamps.at(try reader.varint()))
      let removed = try reader.varint()
      if removed > 0 { tag.removed = try stamps.at(removed - 1) }
      element.tags.append(tag)
    }
    guard kind == placedLink else { return (element, sum) }
    let stamp = try stamps.at(try reader.varint())
    let count = try reader.count(limit: ListPosition.byteLimit, "a position")
    guard let position = count == 0 ? shown : ListPosition(bytes: Array(try reader.take(count))) else {
      throw StoreError(.corrupt, "a stored place lacks its position")
    }
    element.place = ORSetElement.Place(stamp: stamp, position: position)
    return (element, sum)
  }
}
