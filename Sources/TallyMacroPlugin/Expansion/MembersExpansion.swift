#if Macros
  import SwiftSyntax
  import SwiftSyntaxMacros

  /// The value of a property with `@Members`.
  enum MembersExpansion: AccessorMacro {
    /// A getter, or an error.
    static func expansion(
      of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
      guard let variable = declaration.as(VariableDeclSyntax.self) else { return [] }
      guard let structure = context.lexicalContext.first?.as(StructDeclSyntax.self),
        structure.attributes.named("Entity") != nil
      else {
        context.diagnose(
          .init(
            node, "members-place", "'@Members' belongs into a struct with '@Entity', whose schema it is part of",
            [node.removal(from: variable, "'@Members'")]))
        return []
      }
      switch MembersDeclaration.read(variable, in: structure.name.text) {
      case .success(let members):
        return ["get { \(raw: members.type)(\"\(raw: members.name)\") }"]
      case .failure(let refusal):
        context.diagnose(.init(node, "members", refusal.reason, [fix(variable, in: structure)]))
        // What has no value gets one, or the compiler would miss it too.
        let isBare = variable.bindings.allSatisfy { $0.initializer == nil && $0.accessorBlock == nil }
        return isBare && variable.isStatic ? ["get { fatalError(\"the declaration has errors\") }"] : []
      }
    }

    private static func fix(_ variable: VariableDeclSyntax, in structure: StructDeclSyntax) -> Fix {
      let binding = variable.bindings.first
      let name = binding?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text ?? "<#name#>"
      let type =
        binding?.typeAnnotation?.type ?? binding?.initializer?.value.calledType.map(TypeSyntax.init(stringLiteral:))
      let target =
        type?.arguments(of: "Relationship")?.last ?? type?.wrapped.recordCollectionTarget ?? type?.wrapped.recordTarget
        ?? "<#Target#>"
      let access = variable.modifiers.filter { ![.keyword(.static), .keyword(.lazy)].contains($0.name.tokenKind) }
      let text =
        "@Members \(access.map { $0.trimmedDescription + " " }.joined())static var \(name): "
        + "Relationship<\(structure.name.text), \(target)>"
      var fixed = DeclSyntax(stringLiteral: text)
      fixed.leadingTrivia = variable.leadingTrivia
      fixed.trailingTrivia = variable.trailingTrivia
      return Fix("Make it '\(text)'", [.replace(oldNode: Syntax(variable), newNode: Syntax(fixed))])
    }
  }
#endif
