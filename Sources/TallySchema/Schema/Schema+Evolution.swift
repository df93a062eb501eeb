import TallyCRDT

extension Schema {
  /// This schema, grown to cover `next`.
  ///
  /// Entities, fields, references and relationships may come; columns may be renamed if they keep their wire name;
  /// delete rules may change. What `next` no longer has stays, so that an older app on another device can go on.
  package func following(_ next: Schema) throws(StoreError) -> Schema {
    var result = self
    for entity in next.entities {
      guard let index = result.entities.firstIndex(where: { $0.type == entity.type }) else {
        result.entities.append(entity)
        continue
      }
      try result.entities[index].follow(entity)
    }
    for index in result.entities.indices { result.entities[index].declareSources() }
    try result.validate()
    try checkRenames(to: next)
    return result
  }

  /// A column that was renamed twice is declared with its first name. With its second one it would be another field,
  /// and everything that it held would be out of sight.
  private func checkRenames(to next: Schema) throws(StoreError) {
    for entity in next.entities {
      for field in entity.fields where field.name != field.wireName {
        guard let before = self[entity.type]?.fields.first(where: { $0.name == field.wireName }),
          before.wireName != field.wireName, !entity.fields.contains(where: { $0.wireName == before.wireName })
        else { continue }
        throw StoreError(
          .incompatibleSchema,
          "\(entity.type).\(before.name) was first declared as \(before.wireName): "
            + "rename it to \(field.name) with renamedFrom: \"\(before.wireName)\"")
      }
    }
  }
}

extension EntitySchema {
  fileprivate mutating func follow(_ next: EntitySchema) throws(StoreError) {
    deleteWins = next.deleteWins
    follows = next.follows
    unique = next.unique
    for field in next.fields {
      guard let index = fields.firstIndex(where: { $0.wireName == field.wireName }) else {
        fields.append(field)
        continue
      }
      let isSame = fields[index].kind == field.kind && fields[index].keep == field.keep
      guard isSame, fields[index].isDefaultUnsaid || fields[index].defaultValue == field.defaultValue else {
        throw StoreError(
          .incompatibleSchema,
          "\(type).\(field.name) changes its kind, default or what it keeps, which a field cannot: declare a new field under another name"
        )
      }
      guard field.source == nil || field.source == fields[index].source else {
        throw StoreError(
          .incompatibleSchema,
          "\(type).\(field.name) changes what it takes the place of, which a field cannot: declare a new field under another name"
        )
      }
      let source = fields[index].source
      fields[index] = field
      fields[index].source = source
    }
    for reference in next.references {
      guard let index = references.firstIndex(where: { $0.name == reference.name }) else {
        references.append(reference)
        continue
      }
      guard references[index].to == reference.to else {
        throw StoreError(
          .incompatibleSchema, "\(type).\(reference.name) refers to another type than in the file; declare a new one")
      }
      references[index] = reference
    }
    for relationship in next.relationships {
      guard let index = relationships.firstIndex(where: { $0.name == relationship.name }) else {
        relationships.append(relationship)
        continue
      }
      guard relationships[index].to == relationship.to else {
        throw StoreError(
          .incompatibleSchema, "\(type).\(relationship.name) holds another type than in the file; declare a new one")
      }
      if relationship.isOrdered { relationships[index].isOrdered = true }
    }
  }
}
