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
    try result.validate()
    return result
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
      guard isSame, fields[index].defaultValue == field.defaultValue else {
        throw StoreError(
          .incompatibleSchema,
          "\(type).\(field.name) changes its kind, default or what it keeps, which a field cannot: declare a new field under another name"
        )
      }
      fields[index] = field
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
