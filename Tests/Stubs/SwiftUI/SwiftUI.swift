import Foundation

// The names of SwiftUI that Tally's views and Pantry's use, so that they can be typechecked where there is no SwiftUI:
// Scripts/apple-views.sh. Nothing of it is built into anything, and nothing of it does anything. Each declaration is as
// on Apple's page of that name under https://developer.apple.com/documentation/swiftui.

/// Apple: /view
@MainActor @preconcurrency public protocol View {
  associatedtype Body: View
  @ViewBuilder var body: Body { get }
}

extension Never: View {
  /// A view without a body.
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /viewbuilder
@resultBuilder public enum ViewBuilder {
  /// One view.
  public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
  /// Several views.
  public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<(repeat each Content)>
  {
    TupleView()
  }
  /// A view or none.
  public static func buildIf<Content: View>(_ content: Content?) -> TupleView<Content> { TupleView() }
  /// One of two.
  public static func buildEither<First: View, Second: View>(first: First) -> EitherView<First, Second> { EitherView() }
  /// The other.
  public static func buildEither<First: View, Second: View>(second: Second) -> EitherView<First, Second> {
    EitherView()
  }
}

/// One of two views: `_ConditionalContent`, which has no page.
public struct EitherView<First, Second>: View {
  nonisolated init() {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /tupleview
public struct TupleView<Content>: View {
  nonisolated init() {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /localizedstringkey
public struct LocalizedStringKey: ExpressibleByStringInterpolation, Sendable {
  /// Apple: /localizedstringkey/init(stringliteral:)
  public init(stringLiteral value: String) {}
}

/// Apple: /text
public struct Text: View {
  /// Apple: /text/init(_:tablename:bundle:comment:)
  public init(_ key: LocalizedStringKey) {}
  /// Apple: /text/init(_:)
  @_disfavoredOverload public init<S: StringProtocol>(_ content: S) {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /label
public struct Label: View {
  /// Apple: /label/init(_:systemimage:)
  public init(_ title: LocalizedStringKey, systemImage: String) {}
  /// Apple: /label/init(_:systemimage:)
  @_disfavoredOverload public init<S: StringProtocol>(_ title: S, systemImage: String) {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /labelstyle. Only the style that is used.
public struct IconOnlyLabelStyle: Sendable {
  /// Apple: /labelstyle/icononly
  public static let iconOnly = IconOnlyLabelStyle()
}

/// Apple: /image
public struct Image: View {
  /// Apple: /image/init(systemname:)
  public init(systemName: String) {}
  /// Apple: /image/resizable(capinsets:resizingmode:)
  public func resizable() -> Image { self }
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /asyncimagephase
public enum AsyncImagePhase: Sendable {
  /// Apple: /asyncimagephase/empty
  case empty
  /// Apple: /asyncimagephase/success(_:)
  case success(Image)
  /// Apple: /asyncimagephase/failure(_:)
  case failure(any Error)
  /// Apple: /asyncimagephase/image
  public var image: Image? { if case .success(let image) = self { image } else { nil } }
  /// Apple: /asyncimagephase/error
  public var error: (any Error)? { if case .failure(let error) = self { error } else { nil } }
}

/// Apple: /asyncimage
public struct AsyncImage<Content: View>: View {
  /// Apple: /asyncimage/init(url:scale:transaction:content:)
  public init(url: URL?, scale: Double = 1, @ViewBuilder content: @escaping (AsyncImagePhase) -> Content) {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /buttonrole
public struct ButtonRole: Sendable {
  /// Apple: /buttonrole/destructive
  public static let destructive = ButtonRole()
}

/// Apple: /button
public struct Button: View {
  /// Apple: /button/init(_:action:)
  public init(_ title: LocalizedStringKey, action: @escaping @MainActor () -> Void) {}
  /// Apple: /button/init(_:role:action:)
  public init(_ title: LocalizedStringKey, role: ButtonRole?, action: @escaping @MainActor () -> Void) {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /toggle
public struct Toggle: View {
  /// Apple: /toggle/init(_:ison:)
  public init(_ title: LocalizedStringKey, isOn: Binding<Bool>) {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /progressview
public struct ProgressView: View {
  /// Apple: /progressview/init(value:total:)
  public init(value: Double?, total: Double = 1) {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /horizontalalignment
public struct HorizontalAlignment: Sendable {
  /// Apple: /horizontalalignment/leading
  public static let leading = HorizontalAlignment()
}

/// Apple: /vstack
public struct VStack<Content: View>: View {
  /// Apple: /vstack/init(alignment:spacing:content:)
  public init(alignment: HorizontalAlignment, spacing: Double? = nil, @ViewBuilder content: () -> Content) {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /zstack
public struct ZStack<Content: View>: View {
  /// Apple: /zstack/init(alignment:content:)
  public init(@ViewBuilder content: () -> Content) {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /list
public struct List<Content: View>: View {
  /// Apple: /list/init(content:)
  public init(@ViewBuilder content: () -> Content) {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /section
public struct Section<Content: View>: View {
  /// Apple: /section/init(_:content:)
  public init(_ title: LocalizedStringKey, @ViewBuilder content: () -> Content) {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

/// Apple: /dynamicviewcontent
public protocol DynamicViewContent: View {}

/// Apple: /foreach
public struct ForEach<Data: RandomAccessCollection, Content: View>: DynamicViewContent
where Data.Element: Identifiable {
  /// Apple: /foreach/init(_:content:)
  public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) {}
  /// Apple: /view/body
  public var body: Never { fatalError("nothing shows here") }
}

extension DynamicViewContent {
  /// Apple: /dynamicviewcontent/onmove(perform:)
  public func onMove(perform action: ((IndexSet, Int) -> Void)?) -> some DynamicViewContent { self }
}

/// Apple: /shapestyle. Only the colors that are used.
public struct ShapeColor: Sendable {
  /// Apple: /shapestyle/red
  public static let red = ShapeColor()
  /// Apple: /shapestyle/primary
  public static let primary = ShapeColor()
  /// Apple: /shapestyle/secondary
  public static let secondary = ShapeColor()
}

/// Apple: /font
public struct Font: Sendable {
  /// Apple: /font/footnote
  public static let footnote = Font()
}

extension View {
  /// Apple: /view/badge(_:)
  public func badge<S: StringProtocol>(_ label: S?) -> some View { self }
  /// Apple: /view/badge(_:)
  public func badge(_ count: Int) -> some View { self }
  /// Apple: /view/ontapgesture(count:perform:)
  public func onTapGesture(count: Int = 1, perform action: @escaping () -> Void) -> some View { self }
  /// Apple: /view/swipeactions(edge:allowsfullswipe:content:)
  public func swipeActions<Content: View>(@ViewBuilder content: () -> Content) -> some View { self }
  /// Apple: /view/foregroundstyle(_:)
  public func foregroundStyle(_ style: ShapeColor) -> some View { self }
  /// Apple: /view/font(_:)
  public func font(_ font: Font?) -> some View { self }
  /// Apple: /view/searchable(text:placement:prompt:)
  public func searchable(text: Binding<String>) -> some View { self }
  /// Apple: /view/task(priority:_:)
  public func task(_ action: @escaping @MainActor @Sendable () async -> Void) -> some View { self }
  /// Apple: /view/task(id:priority:_:)
  public func task<T: Equatable>(id value: T, _ action: @escaping @MainActor @Sendable () async -> Void) -> some View {
    self
  }
  /// Apple: /view/scaledtofit()
  public func scaledToFit() -> some View { self }
  /// Apple: /view/labelstyle(_:)
  public func labelStyle(_ style: IconOnlyLabelStyle) -> some View { self }
  /// Apple: /view/toolbar(content:)
  public func toolbar<Content: View>(@ViewBuilder content: () -> Content) -> some View { self }
}

/// Apple: /binding
@propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
  /// Apple: /binding/wrappedvalue
  public var wrappedValue: Value {
    get { fatalError("nothing is kept here") }
    nonmutating set {}
  }
  /// Apple: /binding/init(get:set:)
  public init(
    get: @escaping @isolated(any) @Sendable () -> Value, set: @escaping @isolated(any) @Sendable (Value) -> Void
  ) {}
  init(_: Void) {}
  /// Apple: /binding/subscript(dynamicmember:)
  public subscript<Subject>(dynamicMember keyPath: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
    Binding<Subject>(())
  }
}

/// Apple: /dynamicproperty
public protocol DynamicProperty {}

/// Apple: /state
@propertyWrapper public struct State<Value>: DynamicProperty {
  /// Apple: /state/init(wrappedvalue:)
  public init(wrappedValue: Value) {}
  /// Apple: /state/init(initialvalue:)
  public init(initialValue: Value) {}
  /// Apple: /state/wrappedvalue
  public var wrappedValue: Value {
    get { fatalError("nothing is kept here") }
    nonmutating set {}
  }
  /// Apple: /state/projectedvalue
  public var projectedValue: Binding<Value> { Binding(()) }
}

extension State where Value: ExpressibleByNilLiteral {
  /// Apple: /state/init()
  public init() {}
}
