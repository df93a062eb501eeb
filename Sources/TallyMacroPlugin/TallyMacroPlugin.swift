#if Macros
  import SwiftCompilerPlugin
  import SwiftSyntax
  import SwiftSyntaxMacros
  import TallyMacroExpansion

  // The compiler looks the types up here; what they do is in a library, so that tests of it are not built for the
  // compiler's side too.

  @main
  struct TallyMacroPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
      EntityMacro.self, FieldMacro.self, MembersMacro.self, TrackedMacro.self,
    ]
  }

  struct EntityMacro: MemberMacro, MemberAttributeMacro, ExtensionMacro {
    static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      try EntityExpansion.expansion(of: node, providingMembersOf: declaration, conformingTo: protocols, in: context)
    }

    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
      in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
      try EntityExpansion.expansion(
        of: node, attachedTo: declaration, providingExtensionsOf: type, conformingTo: protocols, in: context)
    }
  }

  extension EntityMacro {
    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
      try EntityExpansion.expansion(of: node, attachedTo: declaration, providingAttributesFor: member, in: context)
    }
  }

  struct TrackedMacro: AccessorMacro {
    static func expansion(
      of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
      try TrackedExpansion.expansion(of: node, providingAccessorsOf: declaration, in: context)
    }
  }

  struct FieldMacro: PeerMacro {
    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      try FieldExpansion.expansion(of: node, providingPeersOf: declaration, in: context)
    }
  }

  struct MembersMacro: AccessorMacro {
    static func expansion(
      of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
      try MembersExpansion.expansion(of: node, providingAccessorsOf: declaration, in: context)
    }
  }
#else
  // Without the trait: an empty program, for which swift-syntax is not needed.
  @main
  struct TallyMacroPlugin {
    static func main() {}
  }
#endif
