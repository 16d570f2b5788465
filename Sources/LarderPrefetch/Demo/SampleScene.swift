import Foundation

/// What a sample picture shows.
enum SampleScene: String, CaseIterable {
    case hills, julia, glass, aurora, bubbles, tiles, waves

    var isTranslucent: Bool { self == .bubbles }

    /// The colour (RGBA, 0 to 1) at each point of the picture.
    func painting(seed: UInt64) -> (SIMD2<Float>) -> SIMD4<Float> {
        var dice = Dice(seed: seed &* 7 &+ 1)
        let palette = Palette(&dice)
        switch self {
        case .hills: return Self.hills(palette, &dice)
        case .julia: return Self.julia(palette, &dice)
        case .glass: return Self.glass(palette, &dice)
        case .aurora: return Self.aurora(palette, &dice)
        case .bubbles: return Self.bubbles(palette, &dice)
        case .tiles: return Self.tiles(palette, &dice)
        case .waves: return Self.waves(palette, &dice)
        }
    }

    private typealias Painting = (SIMD2<Float>) -> SIMD4<Float>

    private static func hills(_ palette: Palette, _ dice: inout Dice) -> Painting {
        let sun = SIMD2(dice.roll(-0.5, 0.5), dice.roll(-0.5, -0.1))
        let phases = (0..<6).map { _ in dice.roll(0, 6.28) }
        let sky = palette.color(0.1)
        return { point in
            let distance = length(point - sun)
            let glow = exp(-3 * distance)
            var color = mix(sky * 0.7, SIMD4(1, 0.85, 0.6, 1), step(-1.2, 1.2, point.y) * 0.7 + glow * 0.5)
            color = mix(SIMD4(1, 0.97, 0.85, 1), color, step(0.16, 0.175, distance))
            for layer in 0..<5 {
                let depth = Float(layer)
                let x = point.x * (1.2 + depth * 0.5) + phases[layer]
                let top =
                    0.05 + depth * 0.2 + 0.16 * sin(x) + 0.06 * sin(2.7 * x + phases[layer + 1]) + 0.02 * sin(9 * x)
                let ground = palette.color(0.35 + depth * 0.09) * (0.75 - depth * 0.13)
                color = mix(
                    color, mix(SIMD4(1, 0.9, 0.75, 1), ground, 0.45 + depth * 0.12), step(0, 0.006, point.y - top))
            }
            return opaque(color)
        }
    }

    private static func julia(_ palette: Palette, _ dice: inout Dice) -> Painting {
        let angle = dice.roll(0, 6.28)
        let start = SIMD2(0.7885 * cos(angle), 0.7885 * sin(angle))
        let turn = dice.roll(0, 1)
        return { point in
            var z = point * 1.3
            var count: Float = 0
            while count < 120, z.x * z.x + z.y * z.y < 64 {
                z = SIMD2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + start
                count += 1
            }
            guard count < 120 else { return opaque(palette.color(0.9) * 0.12) }
            let smooth = count + 1 - log2(log2(max(1.01, length(z))))
            return opaque(palette.color(turn + sqrt(max(0, smooth)) * 0.22))
        }
    }

    private static func glass(_ palette: Palette, _ dice: inout Dice) -> Painting {
        let seeds = (0..<40).map { _ in SIMD2(dice.roll(-1.7, 1.7), dice.roll(-1.7, 1.7)) }
        return { point in
            var (nearest, second, found) = (Float.infinity, Float.infinity, 0)
            for (index, seed) in seeds.enumerated() {
                let distance = length(point - seed)
                if distance < nearest {
                    (second, nearest, found) = (nearest, distance, index)
                } else {
                    second = min(second, distance)
                }
            }
            let light = 1.05 - 0.9 * nearest
            let pane = palette.color(Float(found) * 0.137) * light + 0.08 * exp(-6 * length(point - SIMD2(-0.6, -0.6)))
            return opaque(mix(SIMD4(0.05, 0.05, 0.07, 1), pane, step(0.012, 0.03, second - nearest)))
        }
    }

    private static func aurora(_ palette: Palette, _ dice: inout Dice) -> Painting {
        let shifts = (0..<4).map { _ in dice.roll(0, 6.28) }
        let stars = (0..<140).map { _ in SIMD2(dice.roll(-1.8, 1.8), dice.roll(-1.8, 0.6)) }
        return { point in
            var color = mix(SIMD4(0.01, 0.02, 0.07, 1), SIMD4(0.04, 0.09, 0.16, 1), step(-1, 1, point.y))
            for star in stars {
                let distance = length(point - star)
                if distance < 0.01 { color += SIMD4(repeating: 0.9) * (1 - distance / 0.01) }
            }
            for band in 0..<3 {
                let offset = Float(band)
                let edge =
                    0.25 * sin(2.1 * point.x + shifts[band]) + 0.1 * sin(5.3 * point.x + shifts[band + 1]) - 0.1
                    + offset * 0.22
                let above = edge - point.y
                guard above > 0 else { continue }
                let rays = 0.7 + 0.3 * sin(38 * point.x + 7 * sin(3 * point.x + shifts[band]))
                color +=
                    palette.color(0.2 + offset * 0.17 + above * 0.2)
                    * (exp(-2.6 * above) * step(0, 0.05, above) * rays * 0.6)
            }
            return opaque(
                mix(color, SIMD4(0, 0.01, 0.02, 1), step(0, 0.01, point.y - 0.75 - 0.06 * sin(3 * point.x + shifts[3])))
            )
        }
    }

    private static func bubbles(_ palette: Palette, _ dice: inout Dice) -> Painting {
        let circles = (0..<26).map { _ in
            (
                center: SIMD2(dice.roll(-1.4, 1.4), dice.roll(-1.4, 1.4)), radius: dice.roll(0.08, 0.42),
                hue: dice.roll(0, 1)
            )
        }
        return { point in
            // Laid over each other, multiplied by alpha on the way.
            var sum = SIMD4<Float>.zero
            for circle in circles {
                let distance = length(point - circle.center) / circle.radius
                guard distance < 1 else { continue }
                let rim = step(0.75, 1, distance)
                let alpha = (0.25 + 0.5 * rim) * (1 - step(0.985, 1, distance))
                let shine = exp(-18 * length((point - circle.center) / circle.radius + SIMD2(0.35, 0.4)))
                var color = palette.color(circle.hue + 0.15 * distance) + SIMD4(repeating: shine)
                color.w = 1
                sum = sum * (1 - alpha) + color * alpha
            }
            guard sum.w > 0 else { return .zero }
            return SIMD4(sum.x / sum.w, sum.y / sum.w, sum.z / sum.w, sum.w)
        }
    }

    private static func tiles(_ palette: Palette, _ dice: inout Dice) -> Painting {
        let scale = dice.roll(4, 7)
        let salt = UInt64(dice.roll(1, 60_000))
        return { point in
            let place = (point + 4) * scale
            let cell = place.rounded(.down)
            var inside = place - cell
            var die = Dice(seed: UInt64(cell.x) &* 73_856_093 ^ UInt64(cell.y) &* 19_349_663 ^ salt)
            if die.roll(0, 1) < 0.5 { inside.x = 1 - inside.x }
            let first = abs(length(inside) - 0.5)
            let other = abs(length(inside - 1) - 0.5)
            let line = 1 - step(0.12, 0.15, min(first, other))
            let tint = palette.color(0.02 * (cell.x + cell.y))
            return opaque(mix(tint * 0.28, mix(tint, SIMD4(1, 1, 1, 1), 0.35), line))
        }
    }

    private static func waves(_ palette: Palette, _ dice: inout Dice) -> Painting {
        let shifts = (0..<4).map { _ in dice.roll(0, 6.28) }
        return { point in
            var place = point * 1.4
            for round in 1...4 {
                let speed = Float(round)
                place.x += 0.55 / speed * sin(speed * 1.7 * place.y + shifts[0] + speed)
                place.y += 0.55 / speed * sin(speed * 1.5 * place.x + shifts[1] - speed)
            }
            let height = 0.5 + 0.25 * sin(2.4 * place.x + shifts[2]) + 0.25 * cos(2.1 * place.y + shifts[3])
            return opaque(palette.color(height * 0.9) * (0.65 + 0.45 * height))
        }
    }
}

/// A run of colours by four cosines.
private struct Palette {
    private let phase: SIMD3<Float>
    private let frequency: SIMD3<Float>

    init(_ dice: inout Dice) {
        let start = dice.roll(0, 1)
        phase = SIMD3(start, start + dice.roll(0.08, 0.22), start + dice.roll(0.25, 0.45))
        frequency = SIMD3(1, 1, dice.roll(0.7, 1))
    }

    func color(_ position: Float) -> SIMD4<Float> {
        let angle = (frequency * position + phase) * 6.283
        return SIMD4(0.55 + 0.42 * cos(angle.x), 0.5 + 0.42 * cos(angle.y), 0.52 + 0.42 * cos(angle.z), 1)
    }
}

/// The same numbers on every machine (SplitMix64).
private struct Dice {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func roll(_ low: Float, _ high: Float) -> Float {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        return low + (high - low) * Float(mixed >> 40) / Float(1 << 24)
    }
}

private func length(_ vector: SIMD2<Float>) -> Float { (vector * vector).sum().squareRoot() }

private func mix(_ from: SIMD4<Float>, _ to: SIMD4<Float>, _ share: Float) -> SIMD4<Float> {
    from + (to - from) * max(0, min(1, share))
}

/// 0 below `low`, 1 above `high`, smooth between.
private func step(_ low: Float, _ high: Float, _ value: Float) -> Float {
    let share = max(0, min(1, (value - low) / (high - low)))
    return share * share * (3 - 2 * share)
}

private func opaque(_ color: SIMD4<Float>) -> SIMD4<Float> { SIMD4(color.x, color.y, color.z, 1) }
