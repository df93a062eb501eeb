#if Macros
  import SwiftSyntax
  import SwiftSyntaxMacros

  /// The observer of a property with `@Tracked`.
  public enum TrackedExpansion: AccessorMacro {
    /// A `didSet`.
    public static func expansion(
      of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
      guard let variable = declaration.as(VariableDeclSyntax.self), variable.isTrackable,
        let name = variable.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
      else { return [] }
      return ["didSet { EntityColumns.\(raw: name).noteSetting(self.\(raw: name), in: &self.unreadValues) }"]
    }
  }

  extension EntityExpansion: MemberAttributeMacro {
    /// `@Tracked` for a property whose column may hold what the property cannot show.
    public static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
      guard let variable = member.as(VariableDeclSyntax.self), variable.isTrackable,
        let name = variable.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text, name != "id"
      else { return [] }
      var reader = EntityReader(attribute: node, context: context.lexicalContext)
      guard let entity = reader.read(declaration), !entity.hasErrors,
        let property = entity.properties.first(where: { $0.name == name }), property.mayBeUnread
      else { return [] }
      return ["@TallyMacros.Tracked"]
    }
  }

  extension VariableDeclSyntax {
    /// Whether it can be given an observer: one variable, with storage, and without observers of its own.
    fileprivate var isTrackable: Bool {
      !isStatic && bindingSpecifier.tokenKind == .keyword(.var) && bindings.count == 1
        && bindings.first?.accessorBlock == nil
    }
  }

  extension EntityDeclaration.Property {
    /// The types that show whatever their column holds, as a reference does. Null is there only if they are optional.
    private static let plain: Set<String> = ["String", "Bool", "Int", "Int64", "Double", "Data"]

    fileprivate var mayBeUnread: Bool {
      let bare = type.hasSuffix("?") ? String(type.dropLast()) : type
      let name = bare.hasPrefix("Swift.") ? String(bare.dropFirst(6)) : bare
      return !name.hasPrefix("RecordName<") && !Self.plain.contains(name)
    }
  }
#endif
