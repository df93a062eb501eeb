import TallyCRDT

extension EntitySchema {
  /// The names of the columns other than `id`, fields first.
  public var columnNames: [String] { fields.map(\.name) + references.map(\.name) }

  /// - Throws: `StoreError.unknownField`, `.typeMismatch`, `.ownsItself`.
  package func check(_ value: Value, of column: String, _ name: AnyRecordName) throws(StoreError) {
    if let place = fields.firstIndex(where: { $0.name == column }) {
      try check(value, at: place, name)
    } else if let place = references.firstIndex(where: { $0.name == column }) {
      try check(value, at: fields.count + place, name)
    } else {
      throw StoreError(.unknownField, "\(type) has no field \(printable(column))\(hint(forField: column))")
    }
  }

  /// Checks what is to stand in a column, which is given by its place in `columnNames`. A list of values is another
  /// matter: a record keeps a value that it has.
  /// - Throws: `StoreError.typeMismatch`, `.ownsItself`.
  package func check(_ value: Value, at column: Int, _ name: AnyRecordName) throws(StoreError) {
    if value.isNull {
      guard column < fields.count, !fields[column].defaultValue.isNull else { return }
      throw StoreError(.typeMismatch, "\(name).\(fields[column].name) cannot be null: it has a default")
    }
    guard column >= fields.count else {
      let field = fields[column]
      guard !field.kind.accepts(value) else { return }
      throw StoreError(.typeMismatch, "\(name).\(field.name) is not \(field.kind.valueWithArticle)")
    }
    let reference = references[column - fields.count]
    guard case .text(let text) = value, let target = try? AnyRecordName(text), target.hasType(reference.to) else {
      throw StoreError(.typeMismatch, "\(name).\(reference.name) is not the name of a \(reference.to)")
    }
    guard reference.onDelete != .cascade || target != name else {
      throw StoreError(.ownsItself, "\(name).\(reference.name): a record cannot own itself")
    }
  }

  /// - Throws: `StoreError.typeMismatch` if the target is of another type than the relationship's members.
  package func check(_ target: AnyRecordName, as relationship: RelationshipSchema) throws(StoreError) {
    guard target.hasType(relationship.to) else {
      throw StoreError(.typeMismatch, "\(type).\(relationship.name) holds \(relationship.to), not \(target.type)")
    }
  }
}

extension FieldSchema {
  /// Why a value other than null cannot be written to the field; nil if it can.
  package func refusal(of value: Value) -> String? {
    guard kind.accepts(value) else { return "is not \(kind.valueWithArticle)" }
    return oneOf?.contains(value) == false ? "has a value that the schema does not list" : nil
  }

  /// - Throws: `StoreError.invalidSchema`.
  func checkValues(_ type: String) throws(StoreError) {
    guard let oneOf else {
      guard unknown == nil else {
        throw StoreError(.invalidSchema, "\(type).\(name) has an unknown value, but lists no values")
      }
      return
    }
    let isList = (1...Lens.maximumPairs).contains(oneOf.count) && Set(oneOf).count == oneOf.count
    guard isList, [.text, .integer].contains(kind), keep == nil, oneOf.allSatisfy(kind.accepts),
      defaultValue.isNull || oneOf.contains(defaultValue), unknown.map(oneOf.contains) != false
    else {
      throw StoreError(
        .invalidSchema,
        "\(type).\(name) must list 1 to \(Lens.maximumPairs) different texts or integers, its default and its unknown "
          + "value among them")
    }
  }
}
