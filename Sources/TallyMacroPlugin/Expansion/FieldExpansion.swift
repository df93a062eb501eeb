#if Macros
  import SwiftSyntax
  import SwiftSyntaxMacros

  /// `@Field` adds nothing; `@Entity` reads it. Here it only says where it does not belong.
  enum FieldExpansion: PeerMacro {
    /// Nothing, and an error if the attribute is not read.
    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      let variable = declaration.as(VariableDeclSyntax.self)
      let isStored = variable.map { !$0.isStatic && !$0.bindings.contains(where: \.isComputed) } ?? false
      let structure = context.lexicalContext.first?.as(StructDeclSyntax.self)
      guard !isStored || structure?.attributes.named("Entity") == nil else { return [] }
      let message = "'@Field' belongs to a stored property of a struct with '@Entity'"
      // Without a tree that the attribute is part of there is nothing to take it out of.
      let fixes = variable.map { [node.removal(from: $0, "'@Field'")] } ?? []
      context.diagnose(.init(node, "field", message, fixes))
      return []
    }
  }
#endif
