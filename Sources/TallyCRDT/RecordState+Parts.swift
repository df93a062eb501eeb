/// Cutting a state that is too large for one message.
extension RecordState {
  /// About how many bytes the state takes in a message.
  package var approximateByteCount: Int {
    fields.reduce(24 + Self.size(of: supersededTouches)) { $0 + Self.size(of: $1) }
      + deletes.reduce(0) { $0 + Self.size(of: $1.context) }
      + (seed?.layers.reduce(0) { $0 + Self.size(of: $1) } ?? 0) + (life.map(Self.size) ?? 0)
  }

  /// The number of things in the state that take memory apart from the bytes of its values, and stamps among them.
  package var cellCount: Int {
    let layers = seed?.layers.reduce(2) { $0 + 1 + $1.fields.count } ?? 0
    let lives = life.map { 2 + $0.context.count + $0.vias.count } ?? 0
    return deletes.reduce(1 + fields.count + supersededTouches.count + layers + lives) { $0 + 1 + $1.context.count }
  }

  /// The number of field names that the state may need: its own, and those of its seeds' layers.
  package var fieldCount: Int { fields.count + (seed?.layers.reduce(0) { $0 + $1.fields.count } ?? 0) }

  private static func size(of cell: FieldCell) -> Int { 8 + cell.value.byteCount }
  private static func size(of vector: StateVector) -> Int { vector.isEmpty ? 0 : 8 + 8 * vector.count }
  private static func size(of life: Life) -> Int { 16 + size(of: life.context) + 8 * life.vias.count }
  private static func size(of layer: SeedLayer) -> Int { layer.fields.reduce(8) { $0 + size(of: $1) } }

  /// States that join to this one, each of about `limit` bytes and with at most `fields` fields, or of a single cell,
  /// delete or seed version.
  ///
  /// A join takes what it is given in any order, so the parts may travel apart as long as they are applied together.
  /// The parts that decide whether the record is visible come first. The life is in each part, since it says which life
  /// the part's registers are of.
  package func parts(ofBytes limit: Int, fields fieldLimit: Int) -> [RecordState] {
    guard approximateByteCount > limit || fieldCount > fieldLimit else { return [self] }
    var parts: [RecordState] = []
    var empty = RecordState()
    empty.life = life?.beginning
    let emptySize = empty.life.map(Self.size) ?? 0
    var part = empty
    var (size, count) = (emptySize, 0)
    func make(_ bytes: Int, fields: Int = 0, _ add: (inout RecordState) -> Void) {
      if size + bytes > limit || count + fields > fieldLimit, part != empty {
        parts.append(part)
        (part, size, count) = (empty, emptySize, 0)
      }
      add(&part)
      (size, count) = (size + bytes, count + fields)
    }
    make(Self.size(of: supersededTouches)) { part in
      part.existence = existence
      part.supersededTouches = supersededTouches
      part.seed = seed?.basis.map { SeedState(layers: [], basis: $0) }
      part.life?.said = life?.said
    }
    for delete in deletes { make(Self.size(of: delete.context)) { $0.deletes.append(delete) } }
    for layer in seed?.layers ?? [] {
      make(Self.size(of: layer), fields: layer.fields.count) { part in
        part.seed = SeedState(layers: (part.seed?.layers ?? []) + [layer], basis: part.seed?.basis)
      }
    }
    for (cell, via) in zip(fields, fieldVias) {
      make(Self.size(of: cell), fields: 1) { part in
        part.fields.append(cell)
        if via != cell.stamp.dot { part.life?.vias.append(Life.Via(field: cell.field, dot: via)) }
      }
    }
    return part == empty && !(parts.isEmpty && life != nil) ? parts : parts + [part]
  }
}
