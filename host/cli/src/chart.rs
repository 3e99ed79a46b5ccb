//! Line charts as SVG or PNG.

use crate::error::{Error, Library, Result};
use image::codecs::png::PngEncoder;
use image::{ColorType, ImageEncoder};
use patchmg::output::file;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::FontStyle;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

/// SVG shows the first of these that the viewer has; PNG, and the layout of both, use the font of that name below.
pub const FONT: &str = "Roboto, Helvetica, Arial, sans-serif";
/// Registers the font; `false` if it is no font.
pub static FONT_READY: LazyLock<bool> = LazyLock::new(|| {
    let bytes = include_bytes!("font/Roboto-Regular-subset.ttf");
    plotters::style::register_font(FONT, FontStyle::Normal, bytes).is_ok()
});

/// The least value that the vertical axis shows: labels below it could not be told apart.
const LEAST: f64 = 1e-300;

/// Pixels.
const SIZE: (u32, u32) = (900, 560);

/// Distinct for the color-blind (Okabe and Ito, 2008), without its yellow, and six more where that does not suffice.
pub const COLORS: [RGBColor; 13] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
    RGBColor(140, 86, 75),
    RGBColor(0, 60, 90),
    RGBColor(153, 153, 51),
    RGBColor(136, 34, 85),
    RGBColor(170, 170, 170),
    RGBColor(204, 0, 0),
];

/// A line with a marker at each point.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend; none if empty.
    pub label: String,
    /// Points, `x` ascending. What a logarithmic axis cannot show is left out.
    pub points: Vec<(f64, f64)>,
}

/// Scale of the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Whole numbers: iterations.
    Count,
    /// Powers of ten.
    Log,
}

/// A chart over a logarithmic vertical axis.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Heading.
    pub title: String,
    /// Name and unit of the horizontal axis.
    pub x_label: String,
    /// Name and unit of the vertical axis.
    pub y_label: String,
    /// Scale of the horizontal axis.
    pub x_scale: Scale,
    /// What is drawn.
    pub series: Vec<Series>,
    /// A dashed horizontal line: its name and height.
    pub line: Option<(String, f64)>,
}

/// Kind of picture, from the name of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Network Graphics.
    Png,
}

impl Format {
    /// By the extension of `path`, `svg` or `png` in letters of either case.
    ///
    /// # Errors
    /// [`Library::InvalidArgument`] for every other extension.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        match extension.as_ref().and_then(|extension| extension.to_str()) {
            Some("svg") => Ok(Format::Svg),
            Some("png") => Ok(Format::Png),
            _ => Err(Library::InvalidArgument {
                name: "plot",
                value: path.display().to_string(),
                allowed: String::from("a file name that ends in .svg or .png"),
            }
            .into()),
        }
    }
}

impl Chart {
    /// Residuals relative to `||b||` over iterations, and the tolerance.
    pub fn residual_history(title: String, series: Vec<(String, Vec<f64>)>, rtol: f64) -> Self {
        let points = |values: Vec<f64>| values.into_iter().enumerate().map(|(i, value)| (i as f64, value)).collect();
        Self {
            title,
            x_label: String::from("iteration"),
            y_label: String::from("residual relative to ||b||"),
            x_scale: Scale::Count,
            series: series.into_iter().map(|(label, values)| Series { label, points: points(values) }).collect(),
            line: Some((format!("tolerance {rtol:e}"), rtol.max(LEAST))),
        }
    }

    /// Draws the chart into `path`.
    ///
    /// # Errors
    /// [`Library::InvalidArgument`] if the name ends neither in `.svg` nor in `.png`, [`Error::Output`] if it cannot be drawn,
    /// [`Library::Write`] if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let drawn = match Format::of(path)? {
            Format::Svg => self.svg().map(String::into_bytes),
            Format::Png => self.png(),
        };
        let drawn = drawn.map_err(|reason| Error::Output { path: path.to_owned(), reason })?;
        Ok(file::write(path, &drawn)?)
    }

    fn svg(&self) -> Result<String, String> {
        let mut text = String::new();
        self.draw(SVGBackend::with_string(&mut text, SIZE).into_drawing_area())?;
        Ok(text)
    }

    fn png(&self) -> Result<Vec<u8>, String> {
        let ((width, height), mut bytes) = (SIZE, Vec::new());
        let mut pixels = vec![0; 3 * (width * height) as usize];
        self.draw(BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area())?;
        let encoder = PngEncoder::new(&mut bytes);
        encoder.write_image(&pixels, width, height, ColorType::Rgb8).map_err(|e| e.to_string())?;
        Ok(bytes)
    }

    fn draw<D: DrawingBackend>(&self, area: DrawingArea<D, plotters::coord::Shift>) -> Result<(), String> {
        if !*FONT_READY {
            return Err(String::from("the font for its labels cannot be read"));
        }
        let x = self.range_x();
        let drawn = match self.x_scale {
            Scale::Count => self.draw_on(area, x, |x| format!("{x:.0}")),
            Scale::Log => self.draw_on(area, x.log_scale(), |x| format!("{x:e}")),
        };
        drawn.map_err(|e| e.to_string())
    }

    fn draw_on<D: DrawingBackend, X: AsRangedCoord<Value = f64>>(
        &self,
        area: DrawingArea<D, plotters::coord::Shift>,
        x: X,
        x_text: impl Fn(&f64) -> String,
    ) -> Result<(), DrawingAreaErrorKind<D::ErrorType>>
    where
        X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let text = |size: i32| (FONT, size).into_font();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, text(24))
            .margin(16)
            .x_label_area_size(52)
            .y_label_area_size(78)
            .build_cartesian_2d(x, self.range_y().log_scale())?;
        chart
            .configure_mesh()
            .x_desc(&self.x_label)
            .y_desc(&self.y_label)
            .x_labels(self.count_labels())
            .x_label_formatter(&x_text)
            .y_label_formatter(&|y| format!("{y:.0e}"))
            .axis_desc_style(text(18))
            .label_style(text(16))
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(225, 225, 225))
            .draw()?;
        if let Some((label, height)) = &self.line {
            let Range { start, end } = self.range_x();
            let gray = RGBColor(110, 110, 110);
            chart
                .draw_series(DashedLineSeries::new([(start, *height), (end, *height)], 8, 6, gray.stroke_width(2)))?
                .label(label)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], gray.stroke_width(2)));
        }
        for (series, color) in self.series.iter().zip(COLORS.iter().cycle()) {
            let points: Vec<_> = series.points.iter().copied().filter(|&point| self.shows(point)).collect();
            chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?;
            let markers = chart.draw_series(points.iter().map(|&point| Circle::new(point, 4, color.filled())))?;
            if !series.label.is_empty() {
                markers.label(&series.label).legend(move |(x, y)| Circle::new((x + 11, y), 4, color.filled()));
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .margin(12)
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(200, 200, 200))
            .label_font(text(16))
            .draw()?;
        area.present()
    }

    fn shows(&self, (x, y): (f64, f64)) -> bool {
        let x_fits = self.x_scale == Scale::Count || x > 0.0;
        x_fits && x.is_finite() && y >= LEAST && y.is_finite()
    }

    fn shown(&self) -> impl Iterator<Item = (f64, f64)> {
        self.series.iter().flat_map(|s| &s.points).copied().filter(|&point| self.shows(point))
    }

    fn range_x(&self) -> Range<f64> {
        let (low, high) = bounds(self.shown().map(|(x, _)| x)).unwrap_or((1.0, 10.0));
        match self.x_scale {
            // Room at both ends, so that markers are not cut.
            Scale::Count => low - 0.25..high.max(low + 1.0) + 0.25,
            Scale::Log => low / 1.5..high * 1.5,
        }
    }

    fn range_y(&self) -> Range<f64> {
        let line = self.line.iter().map(|(_, height)| *height);
        let (low, high) = bounds(self.shown().map(|(_, y)| y).chain(line)).unwrap_or((0.1, 1.0));
        // Whole decades: the axis begins and ends at a label.
        10f64.powf((low / 1.5).log10().floor())..10f64.powf((high * 1.5).log10().ceil())
    }

    /// Labels of the horizontal axis; a count gets none between whole numbers.
    fn count_labels(&self) -> usize {
        let Range { start, end } = self.range_x();
        if self.x_scale == Scale::Count { ((end - start) as usize + 1).min(11) } else { 8 }
    }
}

pub fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |bounds, value| {
        let (low, high) = bounds.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> Chart {
        let series = vec![(String::from("V-cycle"), vec![1.0, 1e-2, 3e-5, 0.0, f64::NAN, 1e-10])];
        Chart::residual_history(String::from("Q3, 16 cells"), series, 1e-9)
    }

    #[test]
    fn an_svg_has_every_label_and_one_marker_a_residual_that_can_be_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.svg");
        history().write(&path).unwrap();
        let svg = std::fs::read_to_string(path).unwrap();
        for text in ["Q3, 16 cells", "iteration", "residual relative to ||b||", "tolerance 1e-9", "V-cycle"] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(svg.matches("<circle").count(), 4 + 1);
    }

    #[test]
    fn a_png_is_a_png() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.png");
        history().write(&path).unwrap();
        assert!(std::fs::read(path).unwrap().starts_with(b"\x89PNG\r\n\x1a\n"));
    }

    #[test]
    fn nothing_to_show_is_an_empty_chart() {
        let folder = tempfile::tempdir().unwrap();
        Chart { series: Vec::new(), line: None, ..history() }.write(&folder.path().join("empty.svg")).unwrap();
    }

    #[test]
    fn other_formats_and_folders_that_are_not_there_are_errors() {
        assert!(matches!(
            history().write(Path::new("history.pdf")),
            Err(Error::Library(Library::InvalidArgument { .. }))
        ));
        assert!(matches!(
            history().write(Path::new("/dev/null/history.svg")),
            Err(Error::Library(Library::Write { .. }))
        ));
        assert!(matches!(
            history().write(Path::new("/dev/null/history.png")),
            Err(Error::Library(Library::Write { .. }))
        ));
        assert_eq!(Format::of(Path::new("History.SVG")).unwrap(), Format::Svg);
        assert_eq!(Format::of(Path::new("history.Png")).unwrap(), Format::Png);
    }
}
