#if Macros
  import SwiftSyntax
  import SwiftSyntaxMacros

  /// `@Field` adds nothing but the constant of a counter; `@Entity` reads it. Here it also says where it does not
  /// belong.
  enum FieldExpansion: PeerMacro {
    /// A static property for a counter, of the same name; and an error if the attribute is not read.
    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      let variable = declaration.as(VariableDeclSyntax.self)
      let isStored = variable.map { !$0.isStatic && !$0.bindings.contains(where: \.isComputed) } ?? false
      let structure = context.lexicalContext.first?.as(StructDeclSyntax.self)
      guard !isStored || structure?.attributes.named("Entity") == nil else {
        guard let variable, let structure, FieldArguments(variable).isCounter else { return [] }
        return counters(variable, in: structure)
      }
      let message = "'@Field' belongs to a stored property of a struct with '@Entity'"
      // Without a tree that the attribute is part of there is nothing to take it out of.
      let fixes = variable.map { [node.removal(from: $0, "'@Field'")] } ?? []
      context.diagnose(.init(node, "field", message, fixes))
      return []
    }

    /// What adds to a counter and sets it.
    private static func counters(_ variable: VariableDeclSyntax, in structure: StructDeclSyntax) -> [DeclSyntax] {
      let access = variable.modifiers.filter { $0.detail == nil }.map { $0.trimmedDescription + " " }.joined()
      return variable.bindings.compactMap { binding in
        guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else { return nil }
        let (name, column) = (pattern.identifier.text, pattern.identifier.identifier?.name ?? pattern.identifier.text)
        let type = "TallyStore.Counter<\(structure.name.text)>"
        return "\(raw: access)nonisolated static let \(raw: name) = \(raw: type)(\"\(raw: column)\")"
      }
    }
  }
#endif
