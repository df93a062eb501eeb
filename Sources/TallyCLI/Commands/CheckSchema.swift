import ArgumentParser
import Tally
import TallyCRDT
import TallyStore

struct CheckSchema: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Says what opening the store with a newer schema would do, and what older apps see of it.",
    discussion: """
      Nothing is changed. Each difference is a line, and below it stands what it means for apps with the schema of before, \
      on this device or another one. If the store cannot be opened with the schema, the error is the one that opening it \
      gives (65).

      Example: tally schema check scores.tally newer.json
      """)

  @OptionGroup var store: StoreArguments
  @Argument(help: "The new schema, or - for standard input.") var schema: String
  @Flag(help: "Print one line of JSON for each difference.") var json = false

  func run() throws {
    let next = try NewCommand.schema(schema)
    try store.reading { store in
      let before = try store.schema
      let changes = SchemaChange.all(from: before, to: next, merged: try before.following(next))
      try Output.run { output in
        if !json, changes.allSatisfy({ $0.kind == .undeclared }) { try output.line("nothing has to change") }
        for change in changes {
          for line in json ? [change.json.text] : change.lines.map(printable) { try output.line(line) }
        }
      }
    }
  }
}

/// A difference between the schema of a file and one with which it would be opened.
private struct SchemaChange {
  enum Kind: String {
    case newType, newField, newReference, newRelationship
    case renamedField, changedField, changedReference, changedRelationship, changedRules, changedUnique
    case undeclared
  }

  let kind: Kind
  let type: String
  /// The field, reference or relationship; nil for what is of the whole type.
  var property: String?
  /// The change, in a few words.
  var text: String
  /// Further lines about the change.
  var notes: [String] = []
  /// The effect on apps that have the old schema; nil if there is none.
  var olderApps: String?
  /// Of a field with a lens, the older field.
  var source: FieldSource?

  var json: JSON {
    .object([
      "change": .string(kind.rawValue), "type": .string(type), "name": .string(property), "text": .string(text),
      "notes": .array(notes.map(JSON.string)), "olderApps": .string(olderApps), "from": .string(source?.field),
    ])
  }

  var lines: [String] {
    let name = property.map { "\(type).\($0)" } ?? type
    return ["\(name)  \(text)"] + (notes + [olderApps].compactMap { $0 }).map { "  \($0)" }
  }
}

// MARK: - Finding

extension SchemaChange {
  private static let passedOn = "older apps keep it and pass it on unseen"
  private static let goOn = "older apps go on with it"
  private static let untilAll = "devices show different rows for the same data until all have the new rule"

  /// The differences, in the order of the new schema; after them what it no longer declares.
  static func all(from old: Schema, to next: Schema, merged: Schema) -> [SchemaChange] {
    let news = merged.entities.flatMap { entity -> [SchemaChange] in
      guard let before = old[entity.type] else {
        let older = "older apps keep its records and pass them on unseen"
        var change = SchemaChange(kind: .newType, type: entity.type, text: "new type", olderApps: older)
        if let other = old.entities.first(where: { next[$0.type] == nil && $0.mayBe(entity) }) {
          change.notes = ["if it is \(other.type) under a new name, keep that as the type: rename the Swift type alone"]
        }
        return [change]
      }
      return fields(before, next[entity.type], entity) + references(before, entity) + relationships(before, entity)
        + rules(before, entity) + unique(before, entity)
    }
    return news + old.entities.flatMap { undeclared($0, next[$0.type], merged[$0.type]) }
  }

  private static func fields(_ old: EntitySchema, _ next: EntitySchema?, _ merged: EntitySchema) -> [SchemaChange] {
    merged.fields.flatMap { field -> [SchemaChange] in
      guard let before = old.fields.first(where: { $0.wireName == field.wireName }) else {
        return [newField(field, old, next, merged)]
      }
      var changes: [SchemaChange] = []
      if before.name != field.name {
        changes.append(
          SchemaChange(
            kind: .renamedField, type: old.type, property: field.name, text: "renamed from \(before.name)",
            olderApps: "older apps go on under the name that they know"))
      }
      if before.download != field.download || before.within != field.within {
        let text = field.download.map { "downloaded \($0.rawValue)" } ?? "a position within \(field.within ?? "")"
        changes.append(SchemaChange(kind: .changedField, type: old.type, property: field.name, text: text))
      }
      return changes + [values(before, field, old.type)].compactMap { $0 }
    }
  }

  /// A change of the values that a field lists.
  private static func values(_ before: FieldSchema, _ field: FieldSchema, _ type: String) -> SchemaChange? {
    guard before.oneOf != field.oneOf || before.unknown != field.unknown else { return nil }
    let come = field.oneOf?.filter { before.oneOf?.contains($0) != true } ?? []
    let gone = before.oneOf?.filter { field.oneOf?.contains($0) == false } ?? []
    let texts = [
      before.oneOf == nil ? "one of \(field.list(come))" : come.isEmpty ? nil : "also \(field.list(come))",
      gone.isEmpty ? nil : "no longer \(field.list(gone))", field.oneOf == nil ? "any \(field.kind.rawValue)" : nil,
    ]
    var change = SchemaChange(
      kind: .changedField, type: type, property: field.name,
      text: texts.compactMap { $0 }.joined(separator: ", "), olderApps: goOn)
    if change.text.isEmpty { change.text = "other values are read as \(field.list([field.readAs]))" }
    if before.oneOf == nil || !gone.isEmpty {
      change.notes = ["records that have another value keep it, and an enum reads it as \(field.list([field.readAs]))"]
    }
    if before.oneOf == nil {
      change.olderApps = "older apps write any \(field.kind.rawValue)"
    } else if !come.isEmpty || field.oneOf == nil {
      change.olderApps =
        "older apps have what is new in the column and keep it, and an enum there reads it as "
        + before.list([before.readAs])
    }
    return change
  }

  private static func newField(
    _ field: FieldSchema, _ old: EntitySchema, _ next: EntitySchema?, _ merged: EntitySchema
  ) -> SchemaChange {
    let said = field.list([field.defaultValue])
    var change = SchemaChange(
      kind: .newField, type: old.type, property: field.name,
      text: "new field, \(field.kind.rawValue)\(field.keep.map { ", the \($0.rawValue)" } ?? "")",
      olderApps: "\(passedOn); their records have \(said) in it")
    if let values = field.oneOf { change.text += ", one of \(field.list(values))" }
    if let source = field.source {
      change.text += ", in the place of \(source.field), \(source.kind.withArticle)"
      change.notes = ["it shows whichever of the two was written last, seen through the lens; nothing is sent"]
      change.olderApps =
        source.keepsOldApps
        ? "older apps see in \(source.field) what is written to it; their own value stays where that has no counterpart"
        : "older apps keep their own \(source.field) until one of them writes it"
      change.source = source
    } else if let newer = merged.fields.first(where: { $0.source?.field == field.wireName }),
      next?.fields.contains(where: { $0.wireName == field.wireName }) != true
    {
      change.text += ", declared by \(newer.name), which takes its place"
      change.olderApps = goOn
    } else if let other = old.fields.first(where: { $0.mayBe(field) && next?.has($0) != true }) {
      change.notes = [
        "if it is \(other.name) under a new name, declare it with wireName (renamedFrom) \(other.wireName)"
      ]
    }
    return change
  }

  private static func references(_ old: EntitySchema, _ merged: EntitySchema) -> [SchemaChange] {
    merged.references.compactMap { reference in
      guard let before = old.references.first(where: { $0.name == reference.name }) else {
        return SchemaChange(
          kind: .newReference, type: old.type, property: reference.name,
          text: "new reference to \(reference.to), on delete \(reference.onDelete.rawValue)",
          olderApps: "\(passedOn); their records have null in it")
      }
      guard before != reference else { return nil }
      guard before.onDelete != reference.onDelete else {
        return SchemaChange(
          kind: .changedReference, type: old.type, property: reference.name,
          text: reference.isIndexed ? "indexed" : "no longer indexed")
      }
      return SchemaChange(
        kind: .changedReference, type: old.type, property: reference.name,
        text: "on delete \(reference.onDelete.rawValue) instead of \(before.onDelete.rawValue)", olderApps: untilAll)
    }
  }

  private static func relationships(_ old: EntitySchema, _ merged: EntitySchema) -> [SchemaChange] {
    merged.relationships.compactMap { relationship in
      guard let before = old.relationships.first(where: { $0.name == relationship.name }) else {
        return SchemaChange(
          kind: .newRelationship, type: old.type, property: relationship.name,
          text: "new relationship to \(relationship.to)\(relationship.isOrdered ? ", ordered" : "")",
          olderApps: "older apps keep its members and pass them on unseen")
      }
      guard before != relationship else { return nil }
      return SchemaChange(
        kind: .changedRelationship, type: old.type, property: relationship.name,
        text: "ordered from now on, which cannot be undone",
        olderApps: "older apps keep the order and pass it on unseen")
    }
  }

  private static func rules(_ old: EntitySchema, _ merged: EntitySchema) -> [SchemaChange] {
    var texts: [String] = []
    if old.deleteWins != merged.deleteWins {
      texts.append(merged.deleteWins ? "a delete beats concurrent edits" : "a concurrent edit keeps a deleted record")
    }
    if old.follows != merged.follows { texts.append("default data is followed \(merged.follows.rawValue)") }
    return texts.map { SchemaChange(kind: .changedRules, type: old.type, text: $0, olderApps: untilAll) }
  }

  private static func unique(_ old: EntitySchema, _ merged: EntitySchema) -> [SchemaChange] {
    func change(_ rule: UniqueRule, _ text: String) -> SchemaChange {
      SchemaChange(
        kind: .changedUnique, type: old.type, property: rule.fields.joined(separator: ", "), text: text,
        olderApps: untilAll)
    }
    let come = merged.unique.filter { !old.unique.contains($0) }
    let gone = old.unique.filter { rule in !merged.unique.contains { $0.fields == rule.fields } }
    return come.map { change($0, "unique, policy \($0.policy.rawValue)") }
      + gone.map { change($0, "no longer unique") }
  }

  /// Types and properties of the file that the new schema leaves out.
  private static func undeclared(
    _ old: EntitySchema, _ next: EntitySchema?, _ merged: EntitySchema?
  ) -> [SchemaChange] {
    guard let next else {
      return [
        SchemaChange(
          kind: .undeclared, type: old.type, text: "no longer declared; its records stay in the file", olderApps: goOn)
      ]
    }
    func change(_ property: String, _ text: String, _ olderApps: String? = goOn) -> SchemaChange {
      SchemaChange(kind: .undeclared, type: old.type, property: property, text: text, olderApps: olderApps)
    }
    let fields = old.fields.compactMap { field -> SchemaChange? in
      if let declared = next.fields.first(where: { $0.wireName == field.wireName }) {
        guard let source = field.source, declared.source == nil else { return nil }
        return change(declared.name, "takes the place of \(source.field) as before: that cannot be taken back", nil)
      }
      if let newer = merged?.fields.first(where: { $0.source?.field == field.wireName }) {
        return change(field.name, "stays in the file; \(newer.name) takes its place")
      }
      return change(field.name, "no longer declared; its values stay in the file")
    }
    let references = old.references.filter { reference in !next.references.contains { $0.name == reference.name } }
    let relationships = old.relationships.filter { relationship in
      !next.relationships.contains { $0.name == relationship.name }
    }
    return fields + references.map { change($0.name, "no longer declared; its values stay in the file") }
      + relationships.map { change($0.name, "no longer declared; its members stay in the file") }
  }
}

extension EntitySchema {
  fileprivate func has(_ field: FieldSchema) -> Bool { fields.contains { $0.wireName == field.wireName } }

  /// Whether a type that is gone may be another one under a new name.
  fileprivate func mayBe(_ new: EntitySchema) -> Bool {
    fields.contains { field in new.fields.contains { $0.wireName == field.wireName && field.mayBe($0) } }
  }
}

extension FieldSchema {
  /// Whether a field that is gone may be another one under a new name.
  fileprivate func mayBe(_ new: FieldSchema) -> Bool { kind == new.kind && keep == new.keep }

  /// The value as which an enum reads one that is not listed.
  fileprivate var readAs: Value { unknown ?? defaultValue }

  /// Values as the tool prints them.
  fileprivate func list(_ values: [Value]) -> String {
    values.map { printable(FieldType.field(kind).json($0).text) }.joined(separator: ", ")
  }
}
