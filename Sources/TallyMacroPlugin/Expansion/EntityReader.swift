#if Macros
  import SwiftDiagnostics
  import SwiftSyntax

  /// Reads what a struct declares, and says what cannot be an entity, and how it could be one.
  struct EntityReader {
    private(set) var diagnostics: [Diagnostic] = []
    private let attribute: AttributeSyntax
    /// The declarations that enclose the struct, innermost first.
    private let context: [Syntax]

    init(attribute: AttributeSyntax, context: [Syntax]) {
      self.attribute = attribute
      self.context = context
    }

    /// The entity, perhaps with errors; nil if it can be none at all.
    mutating func read(_ declaration: some DeclGroupSyntax) -> EntityDeclaration? {
      guard let structure = declaration.as(StructDeclSyntax.self) else {
        refuseKind(declaration)
        return nil
      }
      checkPlace(structure)
      guard diagnostics.isEmpty else { return nil }
      let name = structure.name.identifier?.name ?? structure.name.text
      var entity = EntityDeclaration(
        name: structure.name.text, type: name, access: Self.access(structure.modifiers), options: [],
        hasInitializer: structure.memberBlock.members.contains { $0.decl.is(InitializerDeclSyntax.self) })
      readArguments(&entity)
      let hasName = readMembers(structure, &entity)
      entity.hasErrors = !diagnostics.isEmpty
      return hasName ? entity : nil
    }

    private mutating func complain(_ node: some SyntaxProtocol, _ id: String, _ message: String, _ fixes: [Fix]) {
      diagnostics.append(Diagnostic(node, id, message, fixes))
    }

    private static func access(_ modifiers: DeclModifierListSyntax) -> String {
      for modifier in modifiers {
        switch modifier.name.tokenKind {
        case .keyword(.public): return "public "
        case .keyword(.package): return "package "
        default: continue
        }
      }
      return ""
    }

    // MARK: - The struct

    private mutating func refuseKind(_ declaration: some DeclGroupSyntax) {
      let message = "'@Entity' can only be applied to a struct: a record is a value"
      if let type = declaration.as(ClassDeclSyntax.self) {
        let modifiers = type.modifiers.filter { $0.name.tokenKind != .keyword(.final) }
        var keyword = TokenSyntax.keyword(.struct)
        keyword.leadingTrivia =
          modifiers.isEmpty ? (type.modifiers.first?.leadingTrivia ?? type.classKeyword.leadingTrivia) : []
        keyword.trailingTrivia = type.classKeyword.trailingTrivia
        complain(
          type.classKeyword, "not-a-struct", message,
          [
            Fix(
              "Make '\(type.name.text)' a struct",
              [
                .replace(oldNode: Syntax(type.modifiers), newNode: Syntax(modifiers)),
                .replace(oldNode: Syntax(type.classKeyword), newNode: Syntax(keyword)),
              ])
          ])
      } else if let type = declaration.as(ActorDeclSyntax.self) {
        complain(
          type.actorKeyword, "not-a-struct", message,
          [Fix("Make '\(type.name.text)' a struct", replace: type.actorKeyword, with: TokenSyntax.keyword(.struct))])
      } else {
        complain(declaration.introducer, "not-a-struct", message, [removeAttribute(declaration)])
      }
    }

    private func removeAttribute(_ declaration: some DeclGroupSyntax) -> Fix {
      var fixed = declaration
      fixed.attributes = declaration.attributes.filter {
        $0.as(AttributeSyntax.self)?.attributeName.trimmedDescription != attribute.attributeName.trimmedDescription
      }
      fixed.leadingTrivia = declaration.leadingTrivia
      return Fix("Remove '@Entity'", [.replace(oldNode: Syntax(declaration), newNode: Syntax(fixed))])
    }

    private mutating func checkPlace(_ structure: StructDeclSyntax) {
      if let generics = structure.genericParameterClause {
        complain(
          generics, "generic", "'@Entity' cannot be applied to a generic struct: a table has one set of columns",
          [
            Fix(
              "Remove the generic parameters",
              [
                .replace(
                  oldNode: Syntax(structure),
                  newNode: Syntax(
                    structure.with(\.genericParameterClause, nil).with(\.genericWhereClause, nil)
                      .with(\.name.trailingTrivia, generics.trailingTrivia)))
              ])
          ])
      }
      guard let parent = context.first else { return }
      if !parent.isProtocol((any DeclGroupSyntax).self) {
        complain(
          structure.structKeyword, "local", "'@Entity' cannot be applied to a struct inside of a function",
          [removeAttribute(structure)])
      } else if let modifier = structure.modifiers.first(where: { $0.name.tokenKind == .keyword(.private) }) {
        complain(
          modifier, "private",
          "'\(structure.name.text)' is private to what it stands in, and its conformances are declared outside of that",
          [Fix("Make it 'fileprivate'", replace: modifier.name, with: TokenSyntax.keyword(.fileprivate))])
      }
    }

    private mutating func readArguments(_ entity: inout EntityDeclaration) {
      for argument in attribute.arguments?.as(LabeledExprListSyntax.self) ?? [] {
        guard argument.label == nil else {
          entity.options.append(argument.with(\.trailingComma, nil).trimmedDescription)
          continue
        }
        guard let type = argument.expression.plainString else {
          complain(
            argument.expression, "type", "the type of the records must be a literal: it never changes",
            [Fix("Use \"\(entity.type)\"", replace: argument.expression, with: Self.literal(entity.type))])
          continue
        }
        entity.type = type
        if let reason = Self.refusal(identifier: type) {
          complain(
            argument.expression, "type", "\"\(type)\" cannot be a type of records: \(reason)",
            [Fix("Use \"\(entity.name)\"", replace: argument.expression, with: Self.literal(entity.name))])
        }
      }
    }

    private static func literal(_ text: String) -> ExprSyntax { ExprSyntax(StringLiteralExprSyntax(content: text)) }

    /// Why a name cannot be that of a table or column; nil if it can.
    static func refusal(identifier: String) -> String? {
      let bytes = Array(identifier.utf8)
      let isLetter = { (byte: UInt8) in (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }
      let isFine =
        bytes.first.map(isLetter) == true
        && bytes.allSatisfy {
          isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x5F
        }
      guard isFine, bytes.count <= 64 else {
        return "it must be a letter, then letters, digits and underscores, in ASCII, at most 64 in all"
      }
      let lower = identifier.lowercased()
      return lower.hasPrefix("tally_") || lower.hasPrefix("sqlite_")
        ? "names that begin with tally_ or sqlite_ are taken" : nil
    }

    // MARK: - Its members

    /// Whether it has a name that is one.
    private mutating func readMembers(_ structure: StructDeclSyntax, _ entity: inout EntityDeclaration) -> Bool {
      var hasID = false
      var hasName = false
      var names = ColumnNames()
      for member in structure.memberBlock.members {
        if let block = member.decl.as(IfConfigDeclSyntax.self) {
          refuseConditional(block, in: structure)
          continue
        }
        guard let variable = member.decl.as(VariableDeclSyntax.self) else { continue }
        if variable.attribute(named: "Members") != nil {
          // What is wrong with it, @Members says itself.
          if let members = try? MembersDeclaration.read(variable, in: entity.name).get() {
            entity.relationships.append(.init(column: members.name, target: members.target, options: members.options))
          }
          continue
        }
        guard !variable.isStatic else { continue }
        for (index, binding) in variable.bindings.enumerated() where !binding.isComputed {
          guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
            refusePattern(variable, binding)
            continue
          }
          var reader = PropertyReader(variable, index, pattern, of: entity.name)
          if pattern.identifier.identifier?.name == "id" {
            hasID = true
            entity.idDefault = reader.readID()
            hasName = reader.diagnostics.isEmpty
          } else if let property = reader.readProperty() {
            entity.properties.append(property)
            reader.diagnostics += names.insert(property, variable, pattern)
          }
          diagnostics += reader.diagnostics
        }
      }
      if !hasID { demandID(structure, entity) }
      return hasName
    }

    private mutating func demandID(_ structure: StructDeclSyntax, _ entity: EntityDeclaration) {
      let declaration = "\(entity.access)var id = RecordName<\(entity.name)>()"
      var members = structure.memberBlock.members
      var item = MemberBlockItemSyntax(decl: DeclSyntax(stringLiteral: declaration))
      item.leadingTrivia = .newline + (members.first?.leadingTrivia.indentation ?? .spaces(2))
      members.insert(item, at: members.startIndex)
      complain(
        structure.name, "no-id", "'\(entity.name)' has no 'id': a record has a name, the same on every device",
        [
          Fix(
            "Add '\(declaration)'",
            [.replace(oldNode: Syntax(structure.memberBlock.members), newNode: Syntax(members))])
        ])
    }

    private mutating func refuseConditional(_ block: IfConfigDeclSyntax, in structure: StructDeclSyntax) {
      let clauses = block.clauses.compactMap { $0.elements?.as(MemberBlockItemListSyntax.self) }
      let columns = clauses.first { members in
        members.contains { member in
          guard let variable = member.decl.as(VariableDeclSyntax.self), !variable.isStatic else { return false }
          return variable.bindings.contains { !$0.isComputed }
        }
      }
      guard let columns else { return }
      let members = structure.memberBlock.members.flatMap { $0.decl.id == block.id ? Array(columns) : [$0] }
      complain(
        block, "conditional", "a column cannot depend on '#if': every build of the app must have it",
        [
          Fix(
            "Remove the condition",
            [
              .replace(
                oldNode: Syntax(structure.memberBlock.members), newNode: Syntax(MemberBlockItemListSyntax(members)))
            ])
        ])
    }

    private mutating func refusePattern(_ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax) {
      let names = binding.pattern.as(TuplePatternSyntax.self)?.elements.map(\.pattern.trimmedDescription) ?? []
      let types = binding.typeAnnotation?.type.as(TupleTypeSyntax.self)?.elements.map(\.type.trimmedDescription) ?? []
      let values =
        binding.initializer?.value.as(TupleExprSyntax.self)?.elements.map(\.expression.trimmedDescription) ?? []
      let parts = names.enumerated().map { index, name in
        let type = types.count == names.count ? ": \(types[index])" : values.isEmpty ? ": <#Type#>" : ""
        let value = values.count == names.count ? " = \(values[index])" : " = <#default#>"
        return "\(name)\(type)\(value)"
      }
      let text = variable.bindings.map {
        $0.id == binding.id ? parts.joined(separator: ", ") : $0.with(\.trailingComma, nil).trimmedDescription
      }
      let joined = "var " + text.joined(separator: ", ")
      guard let list = DeclSyntax(stringLiteral: joined).as(VariableDeclSyntax.self)?.bindings else { return }
      complain(
        binding.pattern, "tuple", "each column is a property of its own",
        [
          Fix(
            "Declare each by itself",
            [
              .replace(
                oldNode: Syntax(variable.bindings),
                newNode: Syntax(list.with(\.trailingTrivia, variable.bindings.trailingTrivia)))
            ])
        ])
    }
  }

  /// The columns and wire names of one entity; case does not count.
  private struct ColumnNames {
    private var columns: [String: String] = ["id": "id"]
    private var wireNames: [String: String] = [:]

    mutating func insert(
      _ property: EntityDeclaration.Property, _ variable: VariableDeclSyntax, _ pattern: IdentifierPatternSyntax
    ) -> [Diagnostic] {
      let rename = Fix(
        "Rename '\(property.name)'", replace: pattern.identifier,
        with: TokenSyntax.identifier("<#\(property.column)2#>"))
      if let other = columns.updateValue(property.name, forKey: property.column.lowercased()) {
        return [
          Diagnostic(
            pattern, "duplicate-column", "'\(property.name)' and '\(other)' are one column: case does not count in SQL",
            [rename])
        ]
      }
      let wireName = property.wireName ?? property.column
      guard let other = wireNames.updateValue(property.name, forKey: wireName.lowercased()) else { return [] }
      let remove = variable.attribute(named: "Field").flatMap { $0.removing(argument: "renamedFrom", from: variable) }
      return [
        Diagnostic(
          pattern, "duplicate-wire-name",
          "'\(property.name)' and '\(other)' are both '\(wireName)' for other devices, and would overwrite each other",
          [remove ?? rename])
      ]
    }
  }
#endif
