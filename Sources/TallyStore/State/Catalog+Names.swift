import TallyCRDT

extension Catalog {
  /// - Throws: `StoreError.corrupt` if a state has fields whose names are lost.
  package func checkNames(in state: RecordState, except distrusted: Set<FieldID> = []) throws {
    func isNamed(_ field: FieldID) -> Bool { fields[field] != nil && !distrusted.contains(field) }
    let layers = state.seed.map { $0.layers.flatMap { $0.fields.map(\.field) } } ?? []
    guard state.fields.allSatisfy({ isNamed($0.field) }), layers.allSatisfy(isNamed) else {
      throw StoreError(.corrupt, "the names of its fields are lost")
    }
    guard marks.accept(state, fields) else {
      throw StoreError(.corrupt, "a field of numbers holds what no such field can hold")
    }
  }
}
