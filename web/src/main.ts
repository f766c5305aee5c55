import "uplot/dist/uPlot.min.css";
import "./styles/app.css";
import { begin } from "./shell";

begin();
