#if Macros
  import SwiftDiagnostics
  import SwiftSyntax

  /// Reads one stored property.
  struct PropertyReader {
    var diagnostics: [Diagnostic] = []
    private let variable: VariableDeclSyntax
    private let binding: PatternBindingSyntax
    private let pattern: IdentifierPatternSyntax
    private let entity: String
    private let field: FieldArguments

    init(_ variable: VariableDeclSyntax, _ index: Int, _ pattern: IdentifierPatternSyntax, of entity: String) {
      self.variable = variable
      let bindings = Array(variable.bindings)
      self.binding = bindings[index]
      self.pattern = pattern
      self.entity = entity
      self.field = FieldArguments(variable)
      // `var a, b: Int`: the type stands at the last of them.
      let rest = bindings[index...].prefix { $0.typeAnnotation != nil || $0.initializer == nil }
      annotation = binding.typeAnnotation?.type
      if annotation == nil, binding.initializer == nil {
        annotation = rest.first { $0.typeAnnotation != nil }?.typeAnnotation?.type
      }
    }

    private var annotation: TypeSyntax?
    private var name: String { pattern.identifier.text }
    private var column: String { pattern.identifier.identifier?.name ?? name }
    private var isLet: Bool { variable.bindingSpecifier.tokenKind == .keyword(.let) }
    private var value: ExprSyntax? { binding.initializer?.value }

    private mutating func complain(_ node: some SyntaxProtocol, _ id: String, _ message: String, _ fixes: [Fix]) {
      diagnostics.append(Diagnostic(node, id, message, fixes))
    }

    // MARK: - id

    /// The default of `id`, if it has one.
    mutating func readID() -> String? {
      let type = annotation?.trimmedDescription ?? value?.calledType
      let written = type?.split(separator: ".").last.map(String.init)
      let fits =
        written == "RecordName<\(entity)>" || written == "RecordName<Self>"
        || (type.map { $0.hasPrefix("RecordName<") && $0.hasSuffix(".\(entity)>") } ?? false)
      if !fits {
        var fixed = variable
        fixed.bindingSpecifier = .keyword(.var, trailingTrivia: .space)
        fixed.bindings = [
          PatternBindingSyntax(pattern: PatternSyntax(stringLiteral: "id = RecordName<\(entity)>()"))
        ]
        fixed.leadingTrivia = variable.leadingTrivia
        fixed.trailingTrivia = variable.trailingTrivia
        let other = type.map { ", not \($0)" } ?? ""
        complain(
          pattern, "id-type", "'id' must be a RecordName<\(entity)>\(other): the name is the same on every device",
          [
            Fix(
              "Make it 'var id = RecordName<\(entity)>()'",
              [.replace(oldNode: Syntax(variable), newNode: Syntax(fixed))])
          ])
        return nil
      }
      if isLet, value != nil { refuseConstant() }
      if let attribute = field.attribute {
        complain(
          attribute, "id-field", "'id' is no field: it never changes", [attribute.removal(from: variable, "'@Field'")])
      }
      return value?.trimmedDescription
    }

    private mutating func refuseConstant() {
      complain(
        variable.bindingSpecifier, "constant",
        "'\(name)' has its value here, so it cannot have one from the database: it must be 'var', or 'static'",
        [Fix("Make it 'var'", replace: variable.bindingSpecifier, with: TokenSyntax.keyword(.var))])
    }

    // MARK: - Any other

    mutating func readProperty() -> EntityDeclaration.Property? {
      let count = diagnostics.count
      checkName()
      if let lazy = variable.modifiers.first(where: { $0.name.tokenKind == .keyword(.lazy) }) {
        let modifiers = variable.modifiers.filter { $0.id != lazy.id }
        complain(
          lazy, "lazy", "'\(name)' is lazy, and a column always has a value",
          [
            Fix(
              "Remove 'lazy'",
              [
                .replace(
                  oldNode: Syntax(variable),
                  newNode: Syntax(
                    variable.with(\.modifiers, modifiers).with(\.leadingTrivia, variable.leadingTrivia)))
              ])
          ])
      }
      if isLet, value != nil { refuseConstant() }
      guard let type = annotation.map({ $0.trimmed }) ?? value?.inferredType.map({ TypeSyntax(stringLiteral: $0) })
      else {
        demandType()
        return nil
      }
      checkType(type)
      diagnostics += field.check(name, type, value, variable)
      guard diagnostics.count == count else { return nil }
      return EntityDeclaration.Property(
        name: name, column: column, type: type.naming(entity).trimmedDescription,
        defaultValue: value?.naming(entity).trimmedDescription, isConstant: value?.isConstant ?? false,
        isOptional: type.isOptional, wireName: field.renamedFrom, isCounter: field.isCounter, extremum: field.extremum,
        otherArguments: field.otherArguments)
    }

    private mutating func checkName() {
      var reason = EntityReader.refusal(identifier: column)
      if ["rowid", "oid", "_rowid_"].contains(column.lowercased()) { reason = "it is SQLite's name of a row's number" }
      if column == "unreadValues" { reason = "'@Entity' makes a property of that name" }
      guard let reason else { return }
      complain(
        pattern, "name", "'\(column)' cannot be a column: \(reason)",
        [Fix("Rename '\(column)'", replace: pattern.identifier, with: TokenSyntax.identifier("<#name#>"))])
    }

    private mutating func demandType() {
      let type = value?.base ?? "<#Type#>"
      var fixed = binding
      fixed.pattern.trailingTrivia = []
      fixed.typeAnnotation = TypeAnnotationSyntax(
        colon: .colonToken(trailingTrivia: .space), type: TypeSyntax(stringLiteral: type), trailingTrivia: .space)
      complain(
        pattern, "no-type", "'\(name)' needs a type annotation: a macro does not see inferred types",
        [Fix("Add ': \(type)'", [.replace(oldNode: Syntax(binding), newNode: Syntax(fixed))])])
    }

    private mutating func checkType(_ type: TypeSyntax) {
      if let forced = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self), let annotation {
        complain(
          annotation, "unwrapped", "'\(name)' is unwrapped implicitly, and other devices may set it to null",
          [Fix("Make it '\(forced.wrappedType)?'", replace: annotation, with: forced.wrappedType.optional)])
      } else if type.recordTarget != nil, let annotation {
        complain(
          annotation, "reference",
          "'\(name)' must be optional: the record that it refers to may be deleted, or not have arrived yet",
          [optional(annotation)])
      } else if let target = type.recordCollectionTarget {
        refuseCollection(target)
      } else if value == nil, !type.isOptional {
        demandDefault(type)
      }
    }

    private func optional(_ type: TypeSyntax) -> Fix {
      Fix("Make it '\(type.trimmed)?'", replace: type, with: type.trimmed.optional)
    }

    private mutating func refuseCollection(_ target: String) {
      let text = "@Members static var \(name): Relationship<\(entity), \(target)>"
      var declaration = DeclSyntax(stringLiteral: text)
      declaration.leadingTrivia = variable.leadingTrivia
      declaration.trailingTrivia = variable.trailingTrivia
      complain(
        pattern, "to-many", "'\(name)' refers to many records, and would merge as one value: make it a relationship",
        [Fix("Make it '\(text)'", [.replace(oldNode: Syntax(variable), newNode: Syntax(declaration))])])
    }

    private mutating func demandDefault(_ type: TypeSyntax) {
      let value = type.emptyValue
      var fixed = variable
      fixed.bindingSpecifier = .keyword(
        .var, leadingTrivia: variable.bindingSpecifier.leadingTrivia, trailingTrivia: .space)
      var bindings = Array(variable.bindings)
      if let index = bindings.firstIndex(where: { $0.id == binding.id }) {
        bindings[index].typeAnnotation = TypeAnnotationSyntax(
          colon: .colonToken(trailingTrivia: .space), type: type, trailingTrivia: .space)
        bindings[index].initializer = InitializerClauseSyntax(
          equal: .equalToken(trailingTrivia: .space), value: ExprSyntax(stringLiteral: value))
        bindings[index].pattern.trailingTrivia = []
      }
      fixed.bindings = PatternBindingListSyntax(bindings)
      fixed.leadingTrivia = variable.leadingTrivia
      fixed.trailingTrivia = variable.trailingTrivia
      var fixes = [Fix("Add the default '\(value)'", [.replace(oldNode: Syntax(variable), newNode: Syntax(fixed))])]
      if let annotation { fixes.append(optional(annotation)) }
      complain(
        pattern, "no-default",
        "'\(name)' needs a default: another device may not know the field, or may never have written it", fixes)
    }
  }
#endif
