#if Macros
  import SwiftSyntax
  import SwiftSyntaxBuilder

  /// The code of one entity.
  ///
  /// Members are `nonisolated`: rows are read and written on the database's threads, also where a module's declarations
  /// belong to the main actor by default.
  struct EntityCode {
    private let entity: EntityDeclaration

    init(_ entity: EntityDeclaration) { self.entity = entity }

    /// All members. Those of an entity with errors do nothing: what uses it elsewhere is not wrong.
    var members: [DeclSyntax] {
      var code = [schema, tableName, columns]
      if !entity.properties.isEmpty, !entity.hasErrors {
        code += [entityColumns, "private nonisolated var unreadValues = TallyMacros.UnreadValues()"]
      }
      if !entity.hasInitializer { code.append(memberwise) }
      return (code + [decoding, encoding]).map { DeclSyntax(stringLiteral: $0) }
    }

    private var prefix: String { "\(entity.access)nonisolated" }

    private var schema: String {
      guard !entity.hasErrors else {
        return "\(prefix) static let schema = TallySchema.EntitySchema(\"\(entity.type)\")"
      }
      let properties =
        entity.properties.map { "EntityColumns.\($0.name).property" }
        + entity.relationships.map { relationship in
          let arguments =
            ["\"\(relationship.column)\"", "to: \(relationship.target).databaseTableName"] + relationship.options
          return ".toMany(\(arguments.joined(separator: ", ")))"
        }
      return """
        \(prefix) static let schema = TallySchema.EntitySchema(
        \(lines(["\"\(entity.type)\""] + entity.options + properties)))
        """
    }

    private var tableName: String {
      """
      \(prefix) static var databaseTableName: String {
        "\(entity.type)"
      }
      """
    }

    private var columns: String {
      let names = [("id", "id")] + entity.properties.map { ($0.name, $0.column) }
      return """
        \(prefix) enum Columns {
        \(names.map { "  \(entity.access)static let \($0) = GRDB.Column(\"\($1)\")" }.joined(separator: "\n"))
        }
        """
    }

    private var entityColumns: String {
      let columns = entity.properties.map { property in
        let arguments = ["\"\(property.column)\""] + property.columnArguments
        let type = "TallyMacros.EntityColumn<\(entity.name), \(property.type)>"
        return "  static let \(property.name) = \(type).column(\(arguments.joined(separator: ", ")))"
      }
      return """
        private nonisolated enum EntityColumns {
        \(columns.joined(separator: "\n"))
        }
        """
    }

    private var memberwise: String {
      let id = "id: RecordName<\(entity.name)>" + (entity.idDefault.map { " = \($0)" } ?? "")
      let parameters =
        [id]
        + entity.properties.map { property in
          "\(property.name): \(property.type)" + (property.initialValue.map { " = \($0)" } ?? "")
        }
      let assignments = ["id"] + entity.properties.map(\.name)
      return """
        \(prefix) init(
        \(lines(parameters))
        ) {
        \(body(assignments.map { "self.\($0) = \($0)" }))
        }
        """
    }

    private var decoding: String {
      var body = ["self.id = try TallyMacros.EntityColumn<\(entity.name), RecordName<\(entity.name)>>.id(row)"]
      if !entity.properties.isEmpty {
        body.insert("var unread = TallyMacros.UnreadValues()", at: 0)
        body += entity.properties.map { "self.\($0.name) = try EntityColumns.\($0.name).read(row, &unread)" }
        body.append("self.unreadValues = unread")
      }
      return """
        \(prefix) init(row: GRDB.Row) throws {
        \(self.body(body))
        }
        """
    }

    private var encoding: String {
      let body =
        ["container[\"id\"] = self.id"]
        + entity.properties.map {
          "try EntityColumns.\($0.name).write(self.\($0.name), self.unreadValues, to: &container)"
        }
      return """
        \(prefix) func encode(to container: inout GRDB.PersistenceContainer) throws {
        \(self.body(body))
        }
        """
    }

    private func body(_ statements: [String]) -> String {
      let statements = entity.hasErrors ? ["fatalError(\"the declaration has errors\")"] : statements
      return statements.map { "  \($0)" }.joined(separator: "\n")
    }

    private func lines(_ items: [String]) -> String { items.map { "  \($0)" }.joined(separator: ",\n") }
  }
#endif
