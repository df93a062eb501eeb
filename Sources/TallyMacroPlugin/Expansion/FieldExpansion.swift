#if Macros
  import SwiftSyntax
  import SwiftSyntaxMacros

  /// `@Field` adds nothing but the constant of what can be set; `@Entity` reads it. Here it also says where it does not
  /// belong.
  enum FieldExpansion: PeerMacro {
    /// A static property for what can be set, of the same name; and an error if the attribute is not read.
    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      let variable = declaration.as(VariableDeclSyntax.self)
      let isStored = variable.map { !$0.isStatic && !$0.bindings.contains(where: \.isComputed) } ?? false
      let structure = context.lexicalContext.first?.as(StructDeclSyntax.self)
      guard !isStored || structure?.attributes.named("Entity") == nil else {
        guard let variable, let structure else { return [] }
        let arguments = FieldArguments(variable)
        if arguments.isCounter { return constants("Counter", variable, in: structure) }
        return arguments.extremum == nil ? [] : constants("KeptField", variable, in: structure)
      }
      let message = "'@Field' belongs to a stored property of a struct with '@Entity'"
      // Without a tree that the attribute is part of there is nothing to take it out of.
      let fixes = variable.map { [node.removal(from: $0, "'@Field'")] } ?? []
      context.diagnose(.init(node, "field", message, fixes))
      return []
    }

    /// What adds to a counter and sets it, or sets what keeps the greatest or the least.
    private static func constants(
      _ constant: String, _ variable: VariableDeclSyntax, in structure: StructDeclSyntax
    ) -> [DeclSyntax] {
      let access = variable.modifiers.filter { $0.detail == nil }.map { $0.trimmedDescription + " " }.joined()
      return variable.bindings.compactMap { binding in
        guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else { return nil }
        let (name, column) = (pattern.identifier.text, pattern.identifier.identifier?.name ?? pattern.identifier.text)
        let type = "TallyStore.\(constant)<\(structure.name.text)>"
        return "\(raw: access)nonisolated static let \(raw: name) = \(raw: type)(\"\(raw: column)\")"
      }
    }
  }
#endif
