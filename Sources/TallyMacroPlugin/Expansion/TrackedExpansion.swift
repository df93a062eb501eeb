#if Macros
  import SwiftSyntax
  import SwiftSyntaxMacros

  /// The observer of a property with `@Tracked`.
  enum TrackedExpansion: AccessorMacro {
    /// A `didSet`, or a `willSet` where the property has a `didSet`.
    static func expansion(
      of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
      guard let variable = declaration.as(VariableDeclSyntax.self), variable.isTrackable,
        let name = variable.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
      else { return [] }
      guard variable.bindings.first?.accessorBlock == nil else {
        return ["willSet { EntityColumns.\(raw: name).noteSetting(newValue, in: &self.unreadValues) }"]
      }
      return ["didSet { EntityColumns.\(raw: name).noteSetting(self.\(raw: name), in: &self.unreadValues) }"]
    }
  }

  extension EntityExpansion: MemberAttributeMacro {
    /// `@Tracked` for a property whose column may hold what the property cannot show.
    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
      guard let variable = member.as(VariableDeclSyntax.self), variable.isTrackable,
        let name = variable.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text, name != "id"
      else { return [] }
      // What encloses a member begins with the struct itself.
      let context = context.lexicalContext.drop {
        $0.as(StructDeclSyntax.self)?.name.text == declaration.as(StructDeclSyntax.self)?.name.text
      }
      var reader = EntityReader(attribute: node, context: Array(context))
      guard let entity = reader.read(declaration), !entity.hasErrors,
        let property = entity.properties.first(where: { $0.name == name }), property.mayBeUnread
      else { return [] }
      return ["@TallyMacros.Tracked"]
    }
  }

  extension VariableDeclSyntax {
    /// Whether it can be given an observer: one variable, with storage, and with a `didSet` of its own at most.
    fileprivate var isTrackable: Bool {
      guard !isStatic, bindingSpecifier.tokenKind == .keyword(.var), bindings.count == 1, let binding = bindings.first
      else { return false }
      switch binding.accessorBlock?.accessors {
      case nil: return true
      case .getter: return false
      case .accessors(let list): return list.map(\.accessorSpecifier.tokenKind) == [.keyword(.didSet)]
      }
    }
  }

  extension EntityDeclaration.Property {
    /// The types that show everything their column holds, as a reference does. Null is there only if they are optional.
    private static let plain: Set<String> = ["String", "Bool", "Int", "Int64", "Double", "Data"]

    fileprivate var mayBeUnread: Bool {
      let bare = type.hasSuffix("?") ? String(type.dropLast()) : type
      let name = bare.hasPrefix("Swift.") ? String(bare.dropFirst(6)) : bare
      return !name.hasPrefix("RecordName<") && !Self.plain.contains(name)
    }
  }
#endif
