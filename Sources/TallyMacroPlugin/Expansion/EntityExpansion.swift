#if Macros
  import SwiftDiagnostics
  import SwiftSyntax
  import SwiftSyntaxBuilder
  import SwiftSyntaxMacros

  /// Generates the members and conformances that `@Entity` adds to a struct.
  ///
  /// Everything but the conformances is a member of the struct, where names mean what they mean in the struct; an
  /// extension of a nested type does not see its neighbors. Nothing here knows a type: overloads of
  /// `EntityColumn.column` decide what a property's column holds.
  enum EntityExpansion: MemberMacro, ExtensionMacro {
    /// The members, and all errors.
    static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      var reader = EntityReader(attribute: node, context: context.lexicalContext)
      let entity = reader.read(declaration)
      for diagnostic in reader.diagnostics { context.diagnose(diagnostic) }
      return entity.map { EntityCode($0).members } ?? []
    }

    /// Returns an extension with the conformances of the entity.
    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
      in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
      var reader = EntityReader(attribute: node, context: context.lexicalContext)
      guard reader.read(declaration) != nil, !protocols.isEmpty else { return [] }
      let names = protocols.map(\.trimmedDescription).joined(separator: ", ")
      return [try ExtensionDeclSyntax("nonisolated extension \(type.trimmed): \(raw: names) {}")]
    }
  }
#endif
