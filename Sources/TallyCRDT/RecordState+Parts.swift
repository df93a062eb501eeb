/// Cutting a state that is too large for one message.
extension RecordState {
  /// About how many bytes the state takes in a message.
  package var approximateByteCount: Int {
    fields.reduce(24 + Self.size(of: supersededTouches)) { $0 + Self.size(of: $1) }
      + deletes.reduce(0) { $0 + Self.size(of: $1.context) }
      + (seed?.layers.reduce(0) { $0 + Self.size(of: $1) } ?? 0)
  }

  /// How many things the state has that take memory apart from the bytes of its values, and stamps among them.
  package var cellCount: Int {
    let layers = seed?.layers.reduce(2) { $0 + 1 + $1.fields.count } ?? 0
    return deletes.reduce(1 + fields.count + supersededTouches.count + layers) { $0 + 1 + $1.context.count }
  }

  /// How many names of fields the state may need: its own, and those of its seeds' layers.
  package var fieldCount: Int { fields.count + (seed?.layers.reduce(0) { $0 + $1.fields.count } ?? 0) }

  private static func size(of cell: FieldCell) -> Int { 8 + cell.value.byteCount }
  private static func size(of vector: StateVector) -> Int { vector.isEmpty ? 0 : 8 + 8 * vector.count }
  private static func size(of layer: SeedLayer) -> Int { layer.fields.reduce(8) { $0 + size(of: $1) } }

  /// States that join to this one, each of about `limit` bytes and with at most `fields` fields, or of a single cell,
  /// delete or seed version.
  ///
  /// A join takes what it is given in any order, so the parts may travel apart as long as they are applied together.
  /// What decides whether the record is seen comes first.
  package func parts(ofBytes limit: Int, fields fieldLimit: Int) -> [RecordState] {
    guard approximateByteCount > limit || fieldCount > fieldLimit else { return [self] }
    var parts: [RecordState] = []
    var part = RecordState()
    var (size, count) = (0, 0)
    func make(_ bytes: Int, fields: Int = 0, _ add: (inout RecordState) -> Void) {
      if size + bytes > limit || count + fields > fieldLimit, !part.isEmpty {
        parts.append(part)
        (part, size, count) = (RecordState(), 0, 0)
      }
      add(&part)
      (size, count) = (size + bytes, count + fields)
    }
    make(Self.size(of: supersededTouches)) { part in
      part.existence = existence
      part.supersededTouches = supersededTouches
      part.seed = seed?.basis.map { SeedState(layers: [], basis: $0) }
    }
    for delete in deletes { make(Self.size(of: delete.context)) { $0.deletes.append(delete) } }
    for layer in seed?.layers ?? [] {
      make(Self.size(of: layer), fields: layer.fields.count) { part in
        part.seed = SeedState(layers: (part.seed?.layers ?? []) + [layer], basis: part.seed?.basis)
      }
    }
    for cell in fields { make(Self.size(of: cell), fields: 1) { $0.fields.append(cell) } }
    return part.isEmpty ? parts : parts + [part]
  }
}
