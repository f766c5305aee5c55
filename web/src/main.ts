import "uplot/dist/uPlot.min.css";
import "./styles/app.css";
import "./styles/jobs.css";
import "./styles/phone.css";
import { begin } from "./shell";

begin();
